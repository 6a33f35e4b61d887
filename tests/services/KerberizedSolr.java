import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.solr.client.solrj.embedded.JettySolrRunner;
import org.apache.solr.core.CoreContainer;

/**
 * Runs a Solr 8 on loopback: {@code java KerberizedSolr HOME PORT}. With the system property zkRun or zkHost, it is a node of
 * a SolrCloud. Prints {@code READY port}; ends when stdin is closed.
 */
public final class KerberizedSolr {
    public static void main(String[] args) throws Exception {
        java.io.PrintStream parent = System.out;
        System.setOut(System.err);
        System.setProperty("jetty.testMode", "true"); // makes Jetty listen on loopback only
        JettySolrRunner solr = new JettySolrRunner(Path.of(args[0]).toString(), "/solr", Integer.parseInt(args[1]));
        try {
            solr.start();
            CoreContainer cores = solr.getCoreContainer();
            if (cores.isZooKeeperAware() && cores.getAuthenticationPlugin() == null) {
                // A SolrCloud reads its security settings from ZooKeeper, and applies them as soon as they are written there.
                byte[] security = Files.readAllBytes(Path.of(args[0], "security.json"));
                cores.getZkController().getZkClient().setData("/security.json", security, true);
                for (int i = 0; i < 300 && cores.getAuthenticationPlugin() == null; i++) {
                    Thread.sleep(100);
                }
            }
            if (cores.getAuthenticationPlugin() == null) {
                throw new IllegalStateException("it wants no tickets");
            }
            parent.println("READY " + solr.getLocalPort());
            while (System.in.read() != -1) { }
        } catch (Throwable error) {
            error.printStackTrace();
            parent.println("FAILED");
        }
        parent.flush();
        Runtime.getRuntime().halt(0);
    }
}
