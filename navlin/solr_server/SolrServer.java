import java.io.IOException;
import java.io.PrintStream;
import java.net.BindException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.EnumSet;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.servlet.DispatcherType;
import javax.servlet.http.HttpServlet;
import org.apache.lucene.index.DocValuesType;
import org.apache.lucene.index.FieldInfo;
import org.apache.lucene.index.IndexOptions;
import org.apache.solr.core.CoreContainer;
import org.apache.solr.core.SolrCore;
import org.apache.solr.schema.NumberType;
import org.apache.solr.schema.SchemaField;
import org.apache.solr.search.SolrIndexSearcher;
import org.apache.solr.servlet.CoreContainerProvider;
import org.apache.solr.servlet.SolrDispatchFilter;
import org.apache.solr.update.UpdateLog;
import org.apache.solr.util.RefCounted;
import org.eclipse.jetty.http2.server.HTTP2CServerConnectionFactory;
import org.eclipse.jetty.server.HttpConfiguration;
import org.eclipse.jetty.server.HttpConnectionFactory;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.StatisticsHandler;
import org.eclipse.jetty.servlet.FilterHolder;
import org.eclipse.jetty.servlet.ServletContextHandler;

/**
 * Runs Solr as a child process of navlin: {@code java SolrServer HOME HOST PORT}. Prints one line on stdout, {@code READY
 * port pid} or {@code FAILED kind: reason}. The process ends when stdin is closed (the parent died) or has a line (the parent
 * asks this process to end).
 */
public final class SolrServer {
    private static final long STOP_MS = 15_000;
    private static volatile boolean ready;
    private static volatile boolean stopped;

    /** A failed start. The first word of the message is the kind of failure, which determines the remedy. */
    @SuppressWarnings("serial")
    private static final class Failed extends Exception {
        Failed(String kind, String reason) {
            super(kind + ": " + reason);
        }
    }

    public static void main(String[] args) throws Exception {
        PrintStream parent = System.out;
        System.setOut(System.err); // stdout is reserved for messages to the parent
        Path home = Path.of(args[0]).toAbsolutePath();
        Server server = new Server();
        Thread ear = new Thread(() -> listen(server), "stdin");
        ear.setDaemon(true);
        ear.start();
        try (FileChannel lock = FileChannel.open(home.resolve("navlin.lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            if (lock.tryLock() == null) { // the kernel releases the lock, however the process dies
                throw new Failed("locked", home.toString());
            }
            ServerConnector connector = connector(server, args[1], Integer.parseInt(args[2]));
            start(server, connector, home);
            ready = true;
            parent.println("READY " + connector.getLocalPort() + " " + ProcessHandle.current().pid());
            server.join();
        } catch (Failed failed) {
            parent.println("FAILED " + failed.getMessage().replace('\n', ' '));
            parent.flush();
            Runtime.getRuntime().halt(3);
        } catch (Throwable error) { // a failed Solr leaves threads running that would keep the process alive
            error.printStackTrace();
            parent.println("FAILED error: " + String.valueOf(error).replace('\n', ' '));
            parent.flush();
            Runtime.getRuntime().halt(4);
        }
    }

    private static ServerConnector connector(Server server, String host, int port) throws Failed {
        HttpConfiguration http = new HttpConfiguration();
        http.setSendServerVersion(false);
        http.setRequestHeaderSize(65_536);
        // Solr's own client speaks HTTP/2 in clear text. If the server did not, streaming and SolrCloud would fail.
        ServerConnector connector = new ServerConnector(server, new HttpConnectionFactory(http), new HTTP2CServerConnectionFactory(http));
        connector.setHost(host);
        connector.setPort(port);
        connector.setIdleTimeout(120_000);
        connector.setShutdownIdleTimeout(100); // shutdown need not wait for idle connections
        try {
            connector.open(); // open the port before Solr starts, so that it is known and taken
        } catch (IOException error) {
            throw new Failed("port", host + ":" + port + ": " + (error.getCause() instanceof BindException cause ? cause : error).getMessage());
        }
        server.addConnector(connector);
        System.setProperty("jetty.port", Integer.toString(connector.getLocalPort()));
        System.setProperty("hostPort", Integer.toString(connector.getLocalPort()));
        return connector;
    }

    private static void start(Server server, ServerConnector connector, Path home) throws Exception {
        ServletContextHandler context = new ServletContextHandler(null, "/solr", ServletContextHandler.NO_SESSIONS);
        context.setAttribute(SolrDispatchFilter.SOLRHOME_ATTRIBUTE, home.toString());
        context.setAttribute(SolrDispatchFilter.PROPERTIES_ATTRIBUTE, new Properties());
        CoreContainerProvider provider = new CoreContainerProvider();
        context.addEventListener(provider);
        FilterHolder solr = new FilterHolder(new SolrDispatchFilter());
        context.addFilter(solr, "/*", EnumSet.of(DispatcherType.REQUEST));
        context.addServlet(NotFound.class, "/");
        StatisticsHandler graceful = new StatisticsHandler(); // lets requests in flight finish
        graceful.setHandler(context);
        server.setHandler(graceful);
        server.setStopTimeout(5_000);
        server.start();

        CoreContainer cores = ((SolrDispatchFilter) solr.getFilter()).getCores(); // Jetty starts even if Solr does not
        cores.waitForLoadingCoresToFinish(TimeUnit.MINUTES.toMillis(10));
        for (var failure : cores.getCoreInitFailures().entrySet()) {
            Throwable cause = failure.getValue().exception;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            throw new Failed("core", failure.getKey() + ": " + cause);
        }
        for (SolrCore core : cores.getCores()) { // a ping succeeds even while the log is replayed and searches miss documents
            UpdateLog log = core.getUpdateHandler().getUpdateLog();
            while (log != null && log.getState() != UpdateLog.State.ACTIVE) {
                Thread.sleep(20);
            }
        }
        for (SolrCore core : cores.getCores()) {
            requireOwnFields(core);
        }
        Path security = home.resolve("security.json");
        if (cores.isZooKeeperAware() && Files.exists(security)) { // with ZooKeeper, Solr looks for security.json only there
            cores.getZkController().getZkClient().setData("/security.json", Files.readAllBytes(security), true);
            for (long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30); cores.getAuthenticationPlugin() == null; Thread.sleep(20)) {
                if (System.nanoTime() > end) {
                    throw new TimeoutException("the password did not come into force within 30 s");
                }
            }
        }
    }

    /** Rejects an index with fields written with another type than the schema's, because Lucene would read 0 or nothing. */
    private static void requireOwnFields(SolrCore core) throws Failed, IOException {
        RefCounted<SolrIndexSearcher> searcher = core.getSearcher();
        try {
            for (FieldInfo info : searcher.get().getSlowAtomicReader().getFieldInfos()) {
                SchemaField field = core.getLatestSchema().getFieldOrNull(info.name);
                if (field == null) {
                    continue;
                }
                NumberType number = field.getType().getNumberType();
                boolean points = field.getType().isPointField();
                int bytes = number == NumberType.INTEGER || number == NumberType.FLOAT ? 4 : 8;
                DocValuesType values = info.getDocValuesType();
                DocValuesType expected = field.multiValued() ? DocValuesType.SORTED_NUMERIC : DocValuesType.NUMERIC;
                boolean numbers = values == DocValuesType.SORTED_NUMERIC || values == DocValuesType.NUMERIC;
                boolean otherValues = values != DocValuesType.NONE && (points ? values != expected : numbers);
                boolean otherPoints = info.getPointDimensionCount() > 0 && (!points || info.getPointNumBytes() != bytes);
                boolean otherTerms = info.getIndexOptions() != IndexOptions.NONE && points;
                if (otherValues || otherPoints || otherTerms) {
                    throw new Failed("fields", info.name + " of " + core.getName() + " was written as "
                        + (info.getPointDimensionCount() > 0 ? "numbers of " + info.getPointNumBytes() + " bytes"
                            : numbers ? "numbers" : "texts")
                        + (field.multiValued() ? ", and the schema wants a list of type " : ", and the schema wants it of type ")
                        + field.getType().getTypeName());
                }
            }
        } finally {
            searcher.decref();
        }
    }

    /** Waits on stdin. A line asks for a normal exit, which may write a class archive. A closed stdin: the parent died. */
    private static void listen(Server server) {
        boolean asked = false;
        try {
            asked = System.in.read() != -1;
        } catch (IOException gone) {
            // treated as the end of the stream
        }
        // Halting loses nothing, because everything acknowledged is in the update log.
        if (ready) {
            Thread deadline = new Thread(SolrServer::haltAtDeadline, "deadline");
            deadline.setDaemon(true);
            deadline.start();
            try {
                server.stop();
            } catch (Exception error) {
                error.printStackTrace();
            }
            stopped = true;
        }
        if (asked && ready) {
            System.exit(0);
        }
        Runtime.getRuntime().halt(0);
    }

    private static void haltAtDeadline() {
        try {
            Thread.sleep(STOP_MS);
        } catch (InterruptedException never) {
            Thread.currentThread().interrupt();
        }
        if (!stopped) {
            Runtime.getRuntime().halt(5);
        }
    }

    @SuppressWarnings("serial")
    public static final class NotFound extends HttpServlet {}
}
