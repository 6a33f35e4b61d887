import java.nio.file.Path;
import org.apache.solr.client.solrj.embedded.JettySolrRunner;

/** A Solr 8 on loopback: {@code java KerberizedSolr HOME PORT}. Says {@code READY port}; ends when stdin does. */
public final class KerberizedSolr {
    public static void main(String[] args) throws Exception {
        java.io.PrintStream parent = System.out;
        System.setOut(System.err);
        System.setProperty("jetty.testMode", "true"); // what keeps it on loopback
        JettySolrRunner solr = new JettySolrRunner(Path.of(args[0]).toString(), "/solr", Integer.parseInt(args[1]));
        try {
            solr.start();
            if (solr.getCoreContainer().getAuthenticationPlugin() == null) {
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
