import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import org.apache.kerby.kerberos.kerb.server.KdcConfigKey;
import org.apache.kerby.kerberos.kerb.server.SimpleKdcServer;

/**
 * Runs a KDC on loopback: {@code java KeyDistribution DIRECTORY REALM PORT TICKET_LIFE_S}. Each line on stdin is a command,
 * answered by READY: {@code keytab FILE PRINCIPAL…} creates missing principals with new keys, and exports all the named
 * principals to the file. The process ends when stdin is closed.
 */
public final class KeyDistribution {
    public static void main(String[] args) {
        try {
            serve(args);
        } catch (Exception error) { // without the exit below, Kerby's threads would keep the process running
            error.printStackTrace();
        }
        System.exit(0);
    }

    private static void serve(String[] args) throws Exception {
        SimpleKdcServer kdc = new SimpleKdcServer();
        kdc.setWorkDir(new File(args[0]));
        kdc.setKdcHost("127.0.0.1");
        kdc.setKdcRealm(args[1]);
        kdc.setAllowUdp(false);
        kdc.setAllowTcp(true);
        kdc.setKdcTcpPort(Integer.parseInt(args[2]));
        kdc.getKdcConfig().setLong(KdcConfigKey.MAXIMUM_TICKET_LIFETIME, Long.parseLong(args[3]));
        kdc.getKdcConfig().setLong(KdcConfigKey.MINIMUM_TICKET_LIFETIME, 1L);
        kdc.init();
        kdc.start();
        System.out.println("READY");
        Set<String> known = new HashSet<>();
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split(" ");
            File keytab = new File(words[1]);
            for (String principal : Arrays.copyOfRange(words, 2, words.length)) {
                if (known.add(principal)) {
                    kdc.createPrincipal(principal);
                }
                kdc.exportPrincipal(principal, keytab);
            }
            System.out.println("READY");
        }
    }
}
