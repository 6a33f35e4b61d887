import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.PrivilegedActionException;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.security.auth.Subject;
import javax.security.auth.kerberos.KerberosTicket;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.Configuration;
import javax.security.auth.login.LoginContext;
import javax.security.auth.login.LoginException;
import javax.security.sasl.Sasl;
import javax.security.sasl.SaslClient;
import org.ietf.jgss.GSSContext;
import org.ietf.jgss.GSSException;
import org.ietf.jgss.GSSManager;
import org.ietf.jgss.GSSName;
import org.ietf.jgss.Oid;

/**
 * Kerberos for navlin, with the JDK's own classes: tickets from a keytab or a ticket cache, SASL's GSSAPI mechanism, and
 * SPNEGO.
 *
 * <p>A request and an answer each consist of fields: a count, then the length and the bytes of each field. Numbers have four
 * bytes, big endian. The first field of an answer is "ok" or "error". The process ends when stdin is closed, or after ten
 * minutes without a request.
 */
public final class KerberosClient {
    /** Accepted protection levels. SASL picks the strongest that the service offers. */
    private static final String LAYERS = "auth-conf,auth-int,auth";
    private static final int MOST_BYTES = 1 << 29;
    private static final long IDLE_MS = 600_000;

    private final Map<String, Login> logins = new HashMap<>();
    private final Map<String, SaslClient> conversations = new HashMap<>();
    private long opened;
    private volatile long askedMs = System.currentTimeMillis();

    public static void main(String[] args) throws IOException {
        DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out, 1 << 16));
        System.setOut(System.err); // stdout is reserved for answers to the parent
        KerberosClient client = new KerberosClient();
        Thread idle = new Thread(client::endWhenIdle, "idle");
        idle.setDaemon(true);
        idle.start();
        try (DataInputStream in =
                new DataInputStream(new BufferedInputStream(new FileInputStream(FileDescriptor.in), 1 << 16))) {
            while (true) {
                List<byte[]> request = read(in);
                client.askedMs = Long.MAX_VALUE;
                write(out, client.answer(request));
                client.askedMs = System.currentTimeMillis();
            }
        } catch (EOFException end) {
            System.exit(0); // a normal exit may write a class archive
        }
    }

    private List<byte[]> answer(List<byte[]> request) {
        List<String> words = request.stream().map(each -> new String(each, StandardCharsets.UTF_8)).toList();
        try {
            return switch (words.get(0)) {
                case "sasl" -> begin(login(words.get(1), words.get(2)), words.get(3), words.get(4));
                case "step" -> step(words.get(1), request.get(2));
                case "wrap" -> ok(conversations.get(words.get(1)).wrap(request.get(2), 0, request.get(2).length));
                case "unwrap" -> ok(conversations.get(words.get(1)).unwrap(request.get(2), 0, request.get(2).length));
                case "close" -> close(words.get(1));
                case "spnego" -> ok(spnego(login(words.get(1), words.get(2)), words.get(3), words.get(4)));
                default -> throw new IllegalArgumentException(words.get(0));
            };
        } catch (Exception | OutOfMemoryError error) {
            return List.of(bytes("error"), bytes(messagesOf(error)));
        }
    }

    // -- Tickets ----------------------------------------------------------------------------------------------------

    /** A logged-in caller, with the lifetime of its ticket. */
    private record Login(Subject subject, long beganMs, long endsMs) {
        /** Whether enough of the ticket's lifetime is left for a request to a service. */
        boolean lasts() {
            return endsMs - System.currentTimeMillis() > (endsMs - beganMs) / 5;
        }
    }

    /** Returns a principal's login, renewed shortly before the ticket expires. Without a keytab, uses the user's ticket cache. */
    private Login login(String principal, String keytab) throws LoginException {
        String name = principal + " " + keytab;
        Login known = logins.get(name);
        if (known != null && known.lasts()) {
            return known;
        }
        LoginContext context = new LoginContext("navlin", new Subject(), null, loginBy(principal, keytab));
        context.login();
        long now = System.currentTimeMillis();
        for (KerberosTicket ticket : context.getSubject().getPrivateCredentials(KerberosTicket.class)) {
            if (ticket.getServer().getName().startsWith("krbtgt/")) {
                Login made = new Login(context.getSubject(), now, ticket.getEndTime().getTime());
                logins.put(name, made);
                return made;
            }
        }
        throw new LoginException("the login gave no ticket");
    }

    private static Configuration loginBy(String principal, String keytab) {
        Map<String, String> options = new HashMap<>(Map.of("doNotPrompt", "true", "refreshKrb5Config", "true"));
        if (!principal.isEmpty()) {
            options.put("principal", principal);
        }
        if (keytab.isEmpty()) {
            options.put("useTicketCache", "true");
        } else {
            options.put("useKeyTab", "true");
            options.put("keyTab", keytab);
        }
        AppConfigurationEntry entry = new AppConfigurationEntry(
                "com.sun.security.auth.module.Krb5LoginModule",
                AppConfigurationEntry.LoginModuleControlFlag.REQUIRED, options);
        return new Configuration() {
            @Override
            public AppConfigurationEntry[] getAppConfigurationEntry(String name) {
                return new AppConfigurationEntry[] {entry};
            }
        };
    }

    // -- SASL and SPNEGO --------------------------------------------------------------------------------------------

    private List<byte[]> begin(Login login, String service, String host) throws Exception {
        Map<String, String> properties = Map.of(Sasl.QOP, LAYERS, Sasl.SERVER_AUTH, "true");
        return doAs(login, () -> {
            SaslClient client =
                    Sasl.createSaslClient(new String[] {"GSSAPI"}, null, service, host, properties, null);
            byte[] token = client.evaluateChallenge(new byte[0]);
            String id = Long.toString(++opened);
            conversations.put(id, client);
            return ok(bytes(id), token);
        });
    }

    private List<byte[]> step(String id, byte[] challenge) throws Exception {
        SaslClient client = conversations.get(id);
        byte[] token = client.evaluateChallenge(challenge); // the client's context already has the tickets
        String layer = client.isComplete() ? (String) client.getNegotiatedProperty(Sasl.QOP) : "";
        return ok(bytes(layer), token == null ? new byte[0] : token);
    }

    private List<byte[]> close(String id) throws IOException {
        SaslClient client = conversations.remove(id);
        if (client != null) {
            client.dispose();
        }
        return ok();
    }

    private static byte[] spnego(Login login, String service, String host) throws Exception {
        return doAs(login, () -> {
            GSSManager manager = GSSManager.getInstance();
            GSSName name = manager.createName(service + "@" + host, GSSName.NT_HOSTBASED_SERVICE);
            GSSContext context = manager.createContext(name, new Oid("1.3.6.1.5.5.2"), null, GSSContext.DEFAULT_LIFETIME);
            context.requestMutualAuth(true);
            context.requestCredDeleg(false);
            try {
                return context.initSecContext(new byte[0], 0, 0);
            } finally {
                context.dispose();
            }
        });
    }

    @SuppressWarnings("removal") // Java 17 does not have the replacement
    private static <T> T doAs(Login login, PrivilegedExceptionAction<T> action) throws Exception {
        try {
            return Subject.doAs(login.subject(), action);
        } catch (PrivilegedActionException error) {
            throw error.getException();
        }
    }

    // -- The connection to the parent -------------------------------------------------------------------------------

    private static List<byte[]> read(DataInputStream in) throws IOException {
        int count = in.readInt();
        List<byte[]> fields = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            int length = in.readInt();
            if (length < 0 || length > MOST_BYTES) {
                throw new IOException("a field of " + length + " bytes");
            }
            fields.add(in.readNBytes(length));
        }
        return fields;
    }

    private static void write(DataOutputStream out, List<byte[]> fields) throws IOException {
        out.writeInt(fields.size());
        for (byte[] field : fields) {
            out.writeInt(field.length);
            out.write(field);
        }
        out.flush();
    }

    private static List<byte[]> ok(byte[]... fields) {
        List<byte[]> answer = new ArrayList<>(List.of(fields));
        answer.add(0, bytes("ok"));
        return answer;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** Joins the messages of an error and its causes, outermost first. The innermost message usually comes from the KDC. */
    private static String messagesOf(Throwable error) {
        List<String> messages = new ArrayList<>();
        for (Throwable each = error; each != null && messages.size() < 10; each = each.getCause()) {
            messages.add(each.getMessage() == null ? each.getClass().getSimpleName() : each.getMessage());
        }
        return String.join(": ", messages);
    }

    private void endWhenIdle() {
        while (!conversations.isEmpty() || System.currentTimeMillis() - askedMs < IDLE_MS) {
            try {
                Thread.sleep(IDLE_MS / 20);
            } catch (InterruptedException never) {
                return;
            }
        }
        System.exit(0);
    }
}
