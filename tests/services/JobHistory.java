import java.io.PrintStream;
import org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer;
import org.apache.hadoop.metrics2.lib.DefaultMetricsSystem;
import org.apache.hadoop.yarn.conf.YarnConfiguration;

/** Runs a JobHistoryServer with the configuration on the class path. Prints {@code READY}; ends when stdin is closed. */
public final class JobHistory {
    public static void main(String[] args) throws Exception {
        PrintStream parent = System.out;
        System.setOut(System.err);
        try {
            DefaultMetricsSystem.setMiniClusterMode(true);
            JobHistoryServer server = new JobHistoryServer();
            server.init(new YarnConfiguration());
            server.start();
            parent.println("READY");
            while (System.in.read() != -1) { }
        } catch (Throwable error) {
            error.printStackTrace();
            parent.println("FAILED");
        }
        parent.flush();
        Runtime.getRuntime().halt(0);
    }
}
