import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hive.metastore.HMSHandler;
import org.apache.hadoop.hive.metastore.MetaStoreEventListener;
import org.apache.hadoop.hive.metastore.api.Database;
import org.apache.hadoop.hive.metastore.api.MetaException;
import org.apache.hadoop.hive.metastore.api.NotificationEvent;
import org.apache.hadoop.hive.metastore.api.Table;
import org.apache.hadoop.hive.metastore.events.AddPartitionEvent;
import org.apache.hadoop.hive.metastore.events.AlterDatabaseEvent;
import org.apache.hadoop.hive.metastore.events.AlterPartitionEvent;
import org.apache.hadoop.hive.metastore.events.AlterTableEvent;
import org.apache.hadoop.hive.metastore.events.CreateDatabaseEvent;
import org.apache.hadoop.hive.metastore.events.CreateTableEvent;
import org.apache.hadoop.hive.metastore.events.DropDatabaseEvent;
import org.apache.hadoop.hive.metastore.events.DropPartitionEvent;
import org.apache.hadoop.hive.metastore.events.DropTableEvent;
import org.apache.hadoop.hive.metastore.events.ListenerEvent;
import org.apache.hadoop.hive.metastore.messaging.EventMessage;
import org.apache.hadoop.hive.metastore.messaging.MessageBuilder;
import org.apache.hadoop.hive.metastore.messaging.MessageEncoder;
import org.apache.hadoop.hive.metastore.messaging.MessageFactory;

/**
 * Writes the notification log of a Hive 4 metastore, as DbNotificationListener does. The metastore's own code creates and
 * encodes the messages. DbNotificationListener of Hive 4 itself cannot be used, because Maven Central has it only for Java
 * 21.
 */
public final class NotificationLog extends MetaStoreEventListener {
    private final MessageBuilder messages = MessageBuilder.getInstance();
    private final MessageEncoder encoder;

    public NotificationLog(Configuration conf) throws SQLException {
        super(conf);
        encoder = MessageFactory.getDefaultInstance(conf);
        numberRows(conf.get("javax.jdo.option.ConnectionURL"));
    }

    /** Initializes the sequences, as Hive's schema scripts do. Otherwise the first ids are read from tables that writers lock. */
    private static void numberRows(String url) throws SQLException {
        try (Connection database = DriverManager.getConnection(url);
                Statement statement = database.createStatement()) {
            for (String table : new String[] {"MNotificationLog", "MNotificationNextId"}) {
                String name = "'org.apache.hadoop.hive.metastore.model." + table + "'";
                ResultSet rows = statement.executeQuery(
                        "SELECT * FROM \"SEQUENCE_TABLE\" WHERE \"SEQUENCE_NAME\" = " + name);
                if (!rows.next()) {
                    statement.executeUpdate("INSERT INTO \"SEQUENCE_TABLE\" VALUES (" + name + ", 1)");
                }
            }
        }
    }

    @Override
    public void onCreateDatabase(CreateDatabaseEvent event) throws MetaException {
        write(event, event.getDatabase(), messages.buildCreateDatabaseMessage(event.getDatabase()));
    }

    @Override
    public void onAlterDatabase(AlterDatabaseEvent event) throws MetaException {
        Database old = event.getOldDatabase();
        write(event, old, messages.buildAlterDatabaseMessage(old, event.getNewDatabase()));
    }

    @Override
    public void onDropDatabase(DropDatabaseEvent event) throws MetaException {
        write(event, event.getDatabase(), messages.buildDropDatabaseMessage(event.getDatabase()));
    }

    @Override
    public void onCreateTable(CreateTableEvent event) throws MetaException {
        Table table = event.getTable();
        write(event, table, messages.buildCreateTableMessage(table, null));
    }

    @Override
    public void onAlterTable(AlterTableEvent event) throws MetaException {
        Table after = event.getNewTable();
        write(event, after, messages.buildAlterTableMessage(
                event.getOldTable(), after, event.getIsTruncateOp(), event.getWriteId()));
    }

    @Override
    public void onDropTable(DropTableEvent event) throws MetaException {
        write(event, event.getTable(), messages.buildDropTableMessage(event.getTable()));
    }

    @Override
    public void onAddPartition(AddPartitionEvent event) throws MetaException {
        Table table = event.getTable();
        write(event, table, messages.buildAddPartitionMessage(table, event.getPartitionIterator(), null));
    }

    @Override
    public void onAlterPartition(AlterPartitionEvent event) throws MetaException {
        Table table = event.getTable();
        write(event, table, messages.buildAlterPartitionMessage(
                table, event.getOldPartition(), event.getNewPartition(), event.getIsTruncateOp(), event.getWriteId()));
    }

    @Override
    public void onDropPartition(DropPartitionEvent event) throws MetaException {
        Table table = event.getTable();
        write(event, table, messages.buildDropPartitionMessage(table, event.getPartitionIterator()));
    }

    private void write(ListenerEvent event, Database database, EventMessage message) throws MetaException {
        write(event, database.getCatalogName(), database.getName(), null, message);
    }

    private void write(ListenerEvent event, Table table, EventMessage message) throws MetaException {
        write(event, table.getCatName(), table.getDbName(), table.getTableName(), message);
    }

    private void write(ListenerEvent event, String catalog, String database, String table, EventMessage message)
            throws MetaException {
        if (!event.getStatus()) {
            return;
        }
        int now = (int) (System.currentTimeMillis() / 1000);
        String text = encoder.getSerializer().serialize(message);
        NotificationEvent noted = new NotificationEvent(0, now, message.getEventType().toString(), text);
        noted.setCatName(catalog);
        noted.setDbName(database);
        noted.setTableName(table);
        noted.setMessageFormat(encoder.getMessageFormat());
        HMSHandler.getMSForConf(getConf()).addNotificationEvent(noted);
    }
}
