import com.unboundid.ldap.listener.InMemoryDirectoryServer;
import com.unboundid.ldap.listener.InMemoryDirectoryServerConfig;
import com.unboundid.ldap.listener.InMemoryListenerConfig;
import com.unboundid.ldap.listener.interceptor.InMemoryInterceptedSearchRequest;
import com.unboundid.ldap.listener.interceptor.InMemoryInterceptedSimpleBindRequest;
import com.unboundid.ldap.listener.interceptor.InMemoryInterceptedSimpleBindResult;
import com.unboundid.ldap.listener.interceptor.InMemoryOperationInterceptor;
import com.unboundid.ldap.sdk.BindResult;
import com.unboundid.ldap.sdk.Control;
import com.unboundid.ldap.sdk.Entry;
import com.unboundid.ldap.sdk.Filter;
import com.unboundid.ldap.sdk.LDAPException;
import com.unboundid.ldap.sdk.ReadOnlySearchRequest;
import com.unboundid.ldap.sdk.ResultCode;
import com.unboundid.ldap.sdk.SearchRequest;
import com.unboundid.ldap.sdk.SearchResultReference;
import com.unboundid.ldap.sdk.SearchScope;
import com.unboundid.ldif.LDIFReader;
import com.unboundid.util.ssl.KeyStoreKeyManager;
import com.unboundid.util.ssl.SSLUtil;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

/**
 * Runs a directory of users on loopback: {@code java UserDirectory LDIF KEY_STORE PASSWORD PORT TLS_PORT LOG}. PORT speaks
 * StartTLS, TLS_PORT speaks TLS. Each line on stdin is a command, answered by READY: {@code ldif FILE} applies changes;
 * {@code stop} and {@code start} close and open the ports. The process ends when stdin is closed. Each bind and each search
 * is a line in the log.
 *
 * <p>Imitates features that the library's server lacks. As in Active Directory, a bind with an empty password succeeds, and
 * there are its rule for nested groups and its messages about locked accounts. Every search below a base also returns a
 * reference to another server.
 */
public final class UserDirectory extends InMemoryOperationInterceptor {
    private static final String NESTED = "1.2.840.113556.1.4.1941";
    private static InMemoryDirectoryServer server;
    private final Path log;

    private UserDirectory(Path log) {
        this.log = log;
    }

    public static void main(String[] args) throws Exception {
        PrintStream parent = System.out;
        System.setOut(System.err);
        InetAddress loopback = InetAddress.getByName("127.0.0.1");
        KeyStoreKeyManager keys = new KeyStoreKeyManager(args[1], args[2].toCharArray(), "PKCS12", "server");
        SSLUtil tls = new SSLUtil(keys, null);
        InMemoryDirectoryServerConfig config = new InMemoryDirectoryServerConfig("dc=example,dc=org");
        config.setSchema(null); // no standard schema has memberOf
        config.setListenerConfigs(
                InMemoryListenerConfig.createLDAPConfig(
                        "start-tls", loopback, Integer.parseInt(args[3]), tls.createSSLSocketFactory()),
                InMemoryListenerConfig.createLDAPSConfig(
                        "tls", loopback, Integer.parseInt(args[4]), tls.createSSLServerSocketFactory(), null));
        config.addInMemoryOperationInterceptor(new UserDirectory(Path.of(args[5])));
        server = new InMemoryDirectoryServer(config);
        server.importFromLDIF(true, args[0]);
        server.startListening();
        parent.println("READY");
        BufferedReader commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = commands.readLine(); line != null; line = commands.readLine()) {
            String[] words = line.split(" ", 2);
            switch (words[0]) {
                case "stop" -> server.shutDown(true);
                case "start" -> server.startListening();
                case "ldif" -> {
                    try (LDIFReader changes = new LDIFReader(words[1])) {
                        for (var change = changes.readChangeRecord(); change != null; change = changes.readChangeRecord()) {
                            change.processChange(server);
                        }
                    }
                }
                default -> throw new IllegalArgumentException("no such command: " + line);
            }
            parent.println("READY");
        }
        Runtime.getRuntime().halt(0);
    }

    @Override
    public void processSimpleBindRequest(InMemoryInterceptedSimpleBindRequest request) throws LDAPException {
        String dn = request.getRequest().getBindDN();
        note("bind\t" + dn);
        if (dn.contains("locked")) {
            throw new LDAPException(ResultCode.INVALID_CREDENTIALS,
                    "80090308: LdapErr: DSID-0C090334, comment: AcceptSecurityContext error, data 775, v1db1\0");
        }
    }

    @Override
    public void processSimpleBindResult(InMemoryInterceptedSimpleBindResult result) {
        if (result.getRequest().getPassword().getValueLength() == 0) {
            result.setResult(new BindResult(result.getMessageID(), ResultCode.SUCCESS, null, null, null, null));
        }
    }

    @Override
    public void processSearchRequest(InMemoryInterceptedSearchRequest request) throws LDAPException {
        ReadOnlySearchRequest asked = request.getRequest();
        Filter filter = asked.getFilter();
        note("search\t" + asked.getBaseDN() + "\t" + filter);
        if (asked.getBaseDN().contains("elsewhere")) {
            throw new LDAPException(ResultCode.REFERRAL, "not here", null, new String[] {"ldap://127.0.0.1:1/dc=example"});
        }
        if (asked.getScope() == SearchScope.SUB) {
            request.sendSearchReference(new SearchResultReference(new String[] {"ldap://127.0.0.1:1/dc=evil"}, new Control[0]));
        }
        if (NESTED.equals(filter.getMatchingRuleID())) {
            boolean in = holds(filter.getAssertionValue(), asked.getBaseDN());
            Filter all = Filter.createPresenceFilter("objectClass");
            request.setRequest(new SearchRequest(asked.getBaseDN(), asked.getScope(), in ? all : Filter.createNOTFilter(all)));
        }
    }

    private static boolean holds(String group, String dn) throws LDAPException {
        Entry entry = server.getEntry(group);
        String[] members = entry == null ? null : entry.getAttributeValues("member");
        for (String member : members == null ? new String[0] : members) {
            if (member.equalsIgnoreCase(dn) || holds(member, dn)) {
                return true;
            }
        }
        return false;
    }

    private synchronized void note(String line) {
        try {
            Files.writeString(log, line + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        } catch (java.io.IOException error) {
            throw new java.io.UncheckedIOException(error);
        }
    }
}
