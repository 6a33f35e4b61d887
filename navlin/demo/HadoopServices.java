import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.conf.ReconfigurationException;
import org.apache.hadoop.ha.HAServiceProtocol;
import org.apache.hadoop.hdfs.DFSConfigKeys;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.SafeModeAction;
import org.apache.hadoop.hdfs.server.datanode.DataNode;
import org.apache.hadoop.hdfs.server.namenode.NameNode;
import org.apache.hadoop.hdfs.server.protocol.NamenodeProtocols;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.service.Service;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.nodemanager.NodeManager;
import org.apache.hadoop.yarn.server.resourcemanager.ResourceManager;

/**
 * Runs Hadoop services in one process: {@code java HadoopServices SERVICE...} (namenode, datanode, resourcemanager,
 * nodemanager). Their configuration is on the class path. Prints {@code READY} or {@code FAILED reason} on stdout, and again
 * after each command read from stdin. The process ends when stdin is closed.
 */
public final class HadoopServices {
    private NameNode nameNode;
    private DataNode dataNode;

    public static void main(String[] services) throws Exception {
        PrintStream parent = System.out;
        System.setOut(System.err); // stdout is reserved for messages to the parent
        try {
            DefaultMetricsSystem.setMiniClusterMode(true); // several services in one process use the same metric names
            HadoopServices started = new HadoopServices();
            for (String service : services) {
                started.start(service);
            }
            started.await();
            parent.println("READY");
            BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
            for (String command = commands.readLine(); command != null; command = commands.readLine()) {
                parent.println(started.obey(command));
            }
        } catch (Throwable error) {
            error.printStackTrace();
            parent.println("FAILED " + String.valueOf(error).replace('\n', ' '));
        }
        parent.flush();
        Runtime.getRuntime().halt(0); // a normal exit takes seconds; everything acknowledged is on disk
    }

    private void start(String service) throws Exception {
        switch (service) {
            case "namenode" -> startNameNode();
            case "datanode" -> dataNode = DataNode.createDataNode(new String[0], new HdfsConfiguration());
            case "resourcemanager" -> run(new ResourceManager());
            case "nodemanager" -> run(new NodeManager());
            default -> throw new IllegalArgumentException("no such service: " + service);
        }
    }

    private void startNameNode() throws IOException {
        Configuration conf = new HdfsConfiguration();
        Path names = Path.of(conf.get(DFSConfigKeys.DFS_NAMENODE_NAME_DIR_KEY));
        if (!Files.exists(names.resolve("current"))) {
            NameNode.format(conf);
        }
        nameNode = NameNode.createNameNode(new String[0], conf);
    }

    private static void run(Service service) {
        service.init(new YarnConfiguration());
        service.start();
    }

    private void await() throws InterruptedException {
        while (dataNode != null && !dataNode.isDatanodeFullyStarted()
                || nameNode != null && nameNode.isActiveState() && nameNode.isInSafeMode()) {
            Thread.sleep(20);
        }
    }

    /** Runs {@code set NAME=VALUE}: sets a property that the NameNode rereads at each use or can reconfigure at runtime. */
    private void configure(String command) throws ReconfigurationException {
        String[] words = command.split("[ =]", 3);
        if (words.length < 3 || !words[0].equals("set")) {
            throw new IllegalArgumentException("no such command: " + command);
        }
        if (nameNode.isPropertyReconfigurable(words[1])) {
            nameNode.reconfigureProperty(words[1], words[2]);
        } else {
            nameNode.getConf().set(words[1], words[2]);
        }
    }

    private String obey(String command) {
        try {
            NamenodeProtocols rpc = nameNode.getRpcServer();
            var request = new HAServiceProtocol.StateChangeRequestInfo(HAServiceProtocol.RequestSource.REQUEST_BY_USER);
            switch (command) {
                case "enter safe mode" -> rpc.setSafeMode(SafeModeAction.SAFEMODE_ENTER, false);
                case "leave safe mode" -> rpc.setSafeMode(SafeModeAction.SAFEMODE_LEAVE, false);
                case "save namespace" -> rpc.saveNamespace(0, 0);
                case "roll edits" -> rpc.rollEdits();
                case "become active" -> rpc.transitionToActive(request);
                case "become standby" -> rpc.transitionToStandby(request);
                case "await" -> await();
                default -> configure(command);
            }
            return "READY";
        } catch (Exception error) {
            error.printStackTrace();
            return "FAILED " + String.valueOf(error).replace('\n', ' ');
        }
    }
}
