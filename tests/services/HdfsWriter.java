import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.Base64;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.CreateFlag;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Options.Rename;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.permission.AclEntry;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.client.HdfsDataOutputStream;
import org.apache.hadoop.hdfs.client.HdfsDataOutputStream.SyncFlag;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * Changes an HDFS for tests: {@code java HdfsWriter URL CONFIGURATION_DIRECTORY}. Each line on stdin is an operation with its
 * arguments, separated by tabs. Each line on stdout is OK or an error. Open files stay open. The system properties {@code
 * principal} and {@code keytab} are for a Kerberos login.
 */
public final class HdfsWriter {
    public static void main(String[] args) throws Exception {
        PrintStream out = System.out;
        System.setOut(System.err);
        Configuration conf = new Configuration();
        for (String name : new String[] {"core-site.xml", "hdfs-site.xml"}) {
            conf.addResource(new Path(java.nio.file.Path.of(args[1], name).toUri()));
        }
        if (System.getProperty("keytab") != null) {
            UserGroupInformation.setConfiguration(conf);
            UserGroupInformation.loginUserFromKeytab(System.getProperty("principal"), System.getProperty("keytab"));
        }
        DistributedFileSystem files = (DistributedFileSystem) FileSystem.newInstance(URI.create(args[0]), conf);
        Map<String, FSDataOutputStream> open = new HashMap<>();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            try {
                // In a request, U+2424 replaces a newline within a name.
                obey(files, open, line.replace('\u2424', '\n').split("\t", -1));
                out.println("OK");
            } catch (Exception error) {
                out.println(String.valueOf(error).replace('\n', ' '));
            }
            out.flush();
        }
        Runtime.getRuntime().halt(0); // open files stay open, as when a writer dies
    }

    private static void obey(DistributedFileSystem files, Map<String, FSDataOutputStream> open, String[] said) throws Exception {
        Path path = new Path(said[1]);
        switch (said[0]) {
            case "mkdirs" -> files.mkdirs(path);
            case "create" -> {
                long blockBytes = Long.parseLong(said[3]);
                open.put(said[1], files.create(path, FsPermission.getFileDefault(),
                        EnumSet.of(CreateFlag.CREATE, CreateFlag.OVERWRITE), 4096, (short) 1, blockBytes, null));
                write(open.get(said[1]), said[2]);
            }
            case "append" -> {
                open.put(said[1], files.append(path));
                write(open.get(said[1]), said[2]);
            }
            case "write" -> write(open.get(said[1]), said[2]);
            case "close" -> open.remove(said[1]).close();
            case "rename" -> files.rename(path, new Path(said[2]), Rename.OVERWRITE);
            case "delete" -> files.delete(path, true);
            case "chmod" -> files.setPermission(path, new FsPermission(said[2]));
            case "chown" -> files.setOwner(path, said[2], said[3]);
            case "touch" -> files.setTimes(path, Long.parseLong(said[2]), Long.parseLong(said[3]));
            case "replicate" -> files.setReplication(path, Short.parseShort(said[2]));
            case "acl" -> files.modifyAclEntries(path, AclEntry.parseAclSpec(said[2], true));
            case "truncate" -> files.truncate(path, Long.parseLong(said[2]));
            case "concat" -> files.concat(path, new Path[] {new Path(said[2])});
            case "erasure code" -> files.setErasureCodingPolicy(path, said[2]);
            case "quota" -> files.setQuota(path, Long.parseLong(said[2]), Long.MAX_VALUE);
            case "allow snapshots" -> files.allowSnapshot(path);
            case "snapshot" -> files.createSnapshot(path, said[2]);
            default -> throw new IllegalArgumentException("no such operation: " + said[0]);
        }
    }

    private static void write(FSDataOutputStream stream, String base64) throws Exception {
        stream.write(Base64.getDecoder().decode(base64));
        stream.hflush();
    }
}
