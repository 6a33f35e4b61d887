import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.util.Properties;
import java.util.TreeSet;
import java.util.UUID;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.sqoop.SqoopJobDataPublisher;

/**
 * Writes one JSON file for each Sqoop job that reads or writes a Hive or HCatalog table. It runs inside the command
 * {@code sqoop} if {@code sqoop.job.data.publish.class} is the name of this class, so no error may leave it: each error
 * becomes one line on stderr. The class also runs on Java 8, because Sqoop 1.4 may.
 *
 * <p>The file is written to the directory {@code navlin.sqoop.directory} of sqoop-site.xml, on the host of the command.
 * Only the options named here are written, and URLs without their users and passwords.
 */
public final class NavlinSqoopPublisher extends SqoopJobDataPublisher {
    private static final String DIRECTORY = "navlin.sqoop.directory";
    private static final String DEFAULT_DIRECTORY = "/var/lib/navlin/sqoop";
    private static final int MAX_CHARS = 1 << 18;
    private static final Pattern OPTIONS = Pattern.compile(
            "db\\.(table|column\\.list|where\\.clause|export\\.staging\\.table)"
            + "|hive\\.(import|overwrite\\.table|database\\.name|table\\.name|external\\.table\\.dir|partition\\.(key|value))"
            + "|hdfs\\.(target\\.dir|warehouse\\.dir|append\\.dir|file\\.format)|export\\.source\\.dir"
            + "|hcatalog\\.(database\\.name|table\\.name)|incremental\\.(mode|col)|map\\.column\\.hive\\..{1,200}");
    private static final Pattern USER_OF_URL = Pattern.compile("//[^?;]*@|(?<=jdbc:oracle:\\w{1,20}:).*(?=@)");
    private static final Pattern SECRET_OF_URL =
            Pattern.compile("(?i)([?&;:,(]\\s*[\\w.]*(?:user|pass|pwd|secret|token|key|credential)\\w*\\s*=)(\\{[^}]*\\}|[^&;,)]*)");

    @Override
    public void publish(Data data) {
        try {
            write(data);
        } catch (Throwable error) {
            try {
                System.err.println("navlin's publisher could not write what the job moved: " + error);
            } catch (Throwable ignored) {
                // No error may reach Sqoop.
            }
        }
    }

    private static void write(Data data) throws IOException {
        Path directory = Paths.get(new Configuration().get(DIRECTORY, DEFAULT_DIRECTORY));
        String name = "sqoop-" + data.getStartTime() + "-" + UUID.randomUUID();
        // The reader skips files whose names begin with a dot.
        Path unfinished = directory.resolve("." + name);
        try {
            Files.write(unfinished, json(data).getBytes(StandardCharsets.UTF_8));
            Files.move(unfinished, directory.resolve(name + ".json"), StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(unfinished);
        }
    }

    private static String json(Data data) {
        StringBuilder text = new StringBuilder("{");
        member(text, "operation", data.getOperation());
        member(text, "user", data.getUser());
        member(text, "url", withoutSecrets(data.getUrl()));
        member(text, "storeTable", data.getStoreTable());
        member(text, "storeQuery", data.getStoreQuery());
        member(text, "hiveDB", data.getHiveDB());
        member(text, "hiveTable", data.getHiveTable());
        text.append(",\"startTime\":").append(data.getStartTime());
        text.append(",\"endTime\":").append(data.getEndTime());
        text.append(",\"options\":{");
        Properties options = data.getOptions();
        if (options != null) {
            for (String name : new TreeSet<String>(options.stringPropertyNames())) {
                if (OPTIONS.matcher(name).matches()) {
                    member(text, name, options.getProperty(name));
                }
            }
        }
        return text.append("}}\n").toString();
    }

    private static String withoutSecrets(String url) {
        if (url == null || url.length() > MAX_CHARS) {
            return null;
        }
        String anonymous = USER_OF_URL.matcher(url).replaceAll("//").replace("://@", ":@");
        return SECRET_OF_URL.matcher(anonymous).replaceAll("$1");
    }

    private static void member(StringBuilder text, String name, String value) {
        if (text.charAt(text.length() - 1) != '{') {
            text.append(',');
        }
        quoted(text, name);
        text.append(':');
        if (value == null || value.length() > MAX_CHARS) {
            text.append("null");
        } else {
            quoted(text, value);
        }
    }

    private static void quoted(StringBuilder text, String value) {
        text.append('"');
        for (int place = 0; place < value.length(); place++) {
            char each = value.charAt(place);
            if (each == '"' || each == '\\') {
                text.append('\\').append(each);
            } else if (each < ' ' || each >= 127) {
                text.append(String.format("\\u%04x", (int) each));
            } else {
                text.append(each);
            }
        }
        text.append('"');
    }
}
