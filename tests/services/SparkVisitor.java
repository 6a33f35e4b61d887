import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.apache.spark.SecurityManager;
import org.apache.spark.SparkConf;
import org.apache.spark.internal.config.package$;
import org.apache.spark.network.netty.SparkTransportConf;
import org.apache.spark.network.shuffle.ExternalBlockStoreClient;
import org.apache.spark.rpc.RpcAddress;
import org.apache.spark.rpc.RpcEnv;
import scala.Option;

/**
 * A local process that speaks Spark's protocols but has no secret: {@code java SparkVisitor APPLICATION PORT…}. First prints
 * the line "open rpc ANSWER" for an RPC server of its own that requires no secret. Then prints two lines for each port: "PORT
 * rpc ANSWER" for the endpoint BlockManagerMaster, and "PORT blocks ANSWER" for the local directories of blocks.
 */
public final class SparkVisitor {
    private static final int PATIENCE_S = 5;

    public static void main(String[] args) throws Exception {
        SparkConf conf = new SparkConf(false).set("spark.rpc.askTimeout", PATIENCE_S + "s");
        SecurityManager nobody = new SecurityManager(conf, Option.empty(), package$.MODULE$.AUTH_SECRET_FILE());
        RpcEnv env = RpcEnv.create("visitor", "127.0.0.1", 0, conf, nobody, true);
        RpcEnv open = RpcEnv.create("open", "127.0.0.1", 0, conf, nobody, false);
        System.out.println("open rpc " + rpc(env, open.address().port(), "endpoint-verifier"));
        for (String port : List.of(args).subList(1, args.length)) {
            System.out.println(port + " rpc " + rpc(env, Integer.parseInt(port), "BlockManagerMaster"));
            System.out.println(port + " blocks " + blocks(conf, nobody, args[0], Integer.parseInt(port)));
        }
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    private static String rpc(RpcEnv env, int port, String endpoint) {
        try {
            return "answered " + env.setupEndpointRef(new RpcAddress("127.0.0.1", port), endpoint);
        } catch (Exception error) {
            return "refused " + error.getClass().getSimpleName();
        }
    }

    private static String blocks(SparkConf conf, SecurityManager nobody, String application, int port)
            throws InterruptedException {
        var transport = SparkTransportConf.fromSparkConf(conf, "shuffle", 1, Option.empty(), Option.empty());
        var client = new ExternalBlockStoreClient(transport, nobody, false, PATIENCE_S * 1000);
        client.init(application);
        var directories = new CompletableFuture<Map<String, String[]>>();
        client.getHostLocalDirs("127.0.0.1", port, new String[] {"driver"}, directories);
        try {
            return "answered " + directories.get(PATIENCE_S, TimeUnit.SECONDS);
        } catch (ExecutionException | TimeoutException error) {
            return "refused " + error.getClass().getSimpleName();
        }
    }
}
