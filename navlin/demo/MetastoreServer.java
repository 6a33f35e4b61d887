import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.Arrays;
import org.apache.hadoop.hive.common.auth.HiveAuthUtils;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.conf.HiveConf.ConfVars;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.TUGIBasedProcessor;
import org.apache.hadoop.hive.thrift.TUGIContainingTransport;
import org.apache.hadoop.util.StringUtils;
import org.apache.thrift.protocol.TBinaryProtocol;
import org.apache.thrift.server.TThreadPoolServer;
import org.apache.thrift.transport.TServerSocket;

/**
 * Runs Hive 2's metastore on loopback: {@code java MetastoreServer PORT}. The main method of HiveMetaStore listens on every
 * address, and no setting of Hive 2 changes that. This class serves HiveMetaStore's handler, in plain text or with TLS;
 * hive-site.xml configures the rest.
 */
public final class MetastoreServer {
    public static void main(String[] args) throws Exception {
        HiveConf conf = new HiveConf(MetastoreServer.class);
        var handler = HiveMetaStore.newRetryingHMSHandler(new HiveMetaStore.HMSHandler("metastore", conf, false), conf);
        new TThreadPoolServer(
                        new TThreadPoolServer.Args(listen(conf, Integer.parseInt(args[0])))
                                .processor(new TUGIBasedProcessor<>(handler))
                                .transportFactory(new TUGIContainingTransport.Factory())
                                .protocolFactory(new TBinaryProtocol.Factory())
                                .minWorkerThreads(conf.getIntVar(ConfVars.METASTORESERVERMINTHREADS))
                                .maxWorkerThreads(conf.getIntVar(ConfVars.METASTORESERVERMAXTHREADS)))
                .serve();
    }

    private static TServerSocket listen(HiveConf conf, int port) throws Exception {
        InetAddress loopback = InetAddress.getByName("127.0.0.1");
        if (!conf.getBoolVar(ConfVars.HIVE_METASTORE_USE_SSL)) {
            return new TServerSocket(new InetSocketAddress(loopback, port));
        }
        return HiveAuthUtils.getServerSSLSocket(
                loopback.getHostAddress(),
                port,
                conf.getVar(ConfVars.HIVE_METASTORE_SSL_KEYSTORE_PATH),
                conf.getVar(ConfVars.HIVE_METASTORE_SSL_KEYSTORE_PASSWORD),
                Arrays.asList(StringUtils.getStrings(conf.getVar(ConfVars.HIVE_SSL_PROTOCOL_BLACKLIST))));
    }
}
