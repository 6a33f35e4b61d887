import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** Runs one statement: {@code java DatabaseStatement.java URL STATEMENT ATTEMPTS}. Prints the rows of its result. */
public final class DatabaseStatement {
    public static void main(String[] given) throws Exception {
        for (int attempt = Integer.parseInt(given[2]); ; attempt--) {
            try (Connection connection = DriverManager.getConnection(given[0], "SA", "")) {
                run(connection, given[1]);
                return;
            } catch (SQLException error) {
                if (attempt <= 1) {
                    throw error;
                }
                Thread.sleep(500);
            }
        }
    }

    private static void run(Connection connection, String text) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            if (!statement.execute(text)) {
                return;
            }
            ResultSet rows = statement.getResultSet();
            int columns = rows.getMetaData().getColumnCount();
            while (rows.next()) {
                StringBuilder row = new StringBuilder();
                for (int column = 1; column <= columns; column++) {
                    row.append(column > 1 ? "\t" : "").append(rows.getString(column));
                }
                System.out.println(row);
            }
        }
    }
}
