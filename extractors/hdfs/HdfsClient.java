import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.FileInputStream;
import java.io.FileDescriptor;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.HttpURLConnection;
import java.net.URI;
import java.net.URL;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.DigestOutputStream;
import java.security.MessageDigest;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ParentNotDirectoryException;
import org.apache.hadoop.fs.UnresolvedLinkException;
import org.apache.hadoop.fs.permission.AclEntry;
import org.apache.hadoop.hdfs.DFSClient;
import org.apache.hadoop.hdfs.DFSInputStream;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.inotify.Event;
import org.apache.hadoop.hdfs.inotify.EventBatch;
import org.apache.hadoop.hdfs.inotify.EventBatchList;
import org.apache.hadoop.hdfs.inotify.MissingEventsException;
import org.apache.hadoop.hdfs.protocol.DirectoryListing;
import org.apache.hadoop.hdfs.protocol.EncryptionZone;
import org.apache.hadoop.hdfs.protocol.HdfsFileStatus;
import org.apache.hadoop.hdfs.protocol.HdfsLocatedFileStatus;
import org.apache.hadoop.hdfs.web.URLConnectionFactory;
import org.apache.hadoop.ipc.RemoteException;
import org.apache.hadoop.security.UserGroupInformation;

/**
 * Serves navlin's requests to a NameNode and its DataNodes, with Hadoop's own client. The command is {@code java HdfsClient
 * SETTINGS}; SETTINGS is a JSON object. Each line on stdin is a request. Each answer is one line of JSON, optionally preceded
 * by lines of progress and followed by as many bytes as the line announces. Every answer is bounded. No answer depends on an
 * earlier one, except for answers about an open file. The process ends when stdin is closed.
 */
public final class HdfsClient {
    private static final JsonFactory JSON = new JsonFactory();
    private static final int OPEN_FILES = 32;
    private static final int READ_BYTES = 4 << 20;
    private static final int ASKED_AT_ONCE = 8;
    private static final long IDLE_MS = 600_000;
    private static final int ASIDE_MS = 5_000;
    private static final Pattern IMAGE = Pattern.compile("fsimage_(\\d+)");

    private final Map<String, String> settings;
    private final Configuration conf;
    private final UserGroupInformation user;
    private final URI uri;
    private final ExecutorService askers = Executors.newFixedThreadPool(ASKED_AT_ONCE, task -> {
        Thread thread = new Thread(task, "asker");
        thread.setDaemon(true);
        return thread;
    });
    private final Map<Long, DFSInputStream> open = new LinkedHashMap<>(16, 0.75f, true);
    private long opened;
    private DFSClient client;
    private volatile long askedMs = System.currentTimeMillis();
    private volatile boolean asked;

    public static void main(String[] args) throws Exception {
        OutputStream out = new BufferedOutputStream(System.out, 1 << 16);
        System.setOut(System.err); // stdout is reserved for answers to the parent
        InputStream in = new BufferedInputStream(new FileInputStream(FileDescriptor.in));
        try {
            HdfsClient served = new HdfsClient(fieldsOf(args[0]));
            Thread idle = new Thread(served::endWhenIdle, "idle");
            idle.setDaemon(true);
            idle.start();
            served.user.doAs((PrivilegedExceptionAction<Void>) () -> {
                served.serve(in, out);
                return null;
            });
        } catch (Throwable error) {
            write(out, json -> describe(json, error, "", ""));
        }
        System.exit(0); // Hadoop leaves threads running; a normal exit may write a class archive, which takes seconds
    }

    private HdfsClient(Map<String, String> settings) throws IOException {
        this.settings = settings;
        uri = URI.create(settings.get("url"));
        conf = configuration();
        UserGroupInformation.setConfiguration(conf);
        String principal = settings.get("principal");
        if (!settings.get("keytab").isEmpty()) {
            UserGroupInformation.loginUserFromKeytab(principal, settings.get("keytab"));
        }
        UserGroupInformation login = UserGroupInformation.getLoginUser();
        if (UserGroupInformation.isSecurityEnabled()) {
            if (!login.hasKerberosCredentials()) {
                throw new org.apache.hadoop.security.AccessControlException(
                        "the cluster wants Kerberos, and there is neither a keytab nor a ticket in the cache");
            }
            if (!principal.isEmpty() && !login.getUserName().split("@")[0].equals(principal.split("@")[0])) {
                throw new org.apache.hadoop.security.AccessControlException(
                        "the ticket in the cache is for " + login.getUserName() + ", not for " + principal);
            }
            user = login;
        } else {
            user = settings.get("user").isEmpty() ? login : UserGroupInformation.createRemoteUser(settings.get("user"));
        }
    }

    private Configuration configuration() throws IOException {
        Configuration made = new HdfsConfiguration();
        String directory = settings.get("configuration_directory");
        if (!directory.isEmpty()) {
            for (String name : List.of("core-site.xml", "hdfs-site.xml")) {
                Path site = Path.of(directory, name);
                if (!Files.isReadable(site)) {
                    throw new NoSuchFileException(site.toString(), null, "no such file, or not readable");
                }
                made.addResource(new org.apache.hadoop.fs.Path(site.toUri()));
            }
            Path tls = Path.of(directory, "ssl-client.xml");
            if (Files.isReadable(tls)) { // Hadoop looks for it only on the class path, which is fixed, so add it here
                made.addResource(new org.apache.hadoop.fs.Path(tls.toUri()));
            }
        }
        String nameservice = uri.getAuthority();
        String[] namenodes = settings.get("namenodes").isEmpty() ? new String[0] : settings.get("namenodes").split(",");
        if (namenodes.length > 0) {
            String[] http = settings.get("http").isEmpty() ? new String[0] : settings.get("http").split(",");
            List<String> ids = new ArrayList<>();
            for (int i = 0; i < namenodes.length; i++) {
                ids.add("nn" + (i + 1));
                made.set("dfs.namenode.rpc-address." + nameservice + ".nn" + (i + 1), namenodes[i]);
            }
            made.set("dfs.nameservices", nameservice);
            made.set("dfs.ha.namenodes." + nameservice, String.join(",", ids));
            made.set("dfs.client.failover.proxy.provider." + nameservice,
                    "org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider");
        }
        String principal = settings.get("principal");
        if (!principal.isEmpty()) {
            made.set("hadoop.security.authentication", "kerberos");
            if (made.get("dfs.namenode.kerberos.principal") == null && principal.contains("@")) {
                made.set("dfs.namenode.kerberos.principal", "hdfs/_HOST@" + principal.substring(principal.indexOf('@') + 1));
            }
            if (directory.isEmpty()) { // the cluster's setting is unknown, so any is accepted
                made.set("hadoop.rpc.protection", "privacy,integrity,authentication");
                made.set("dfs.data.transfer.protection", "privacy,integrity,authentication");
            }
        }
        // With Hadoop's defaults, the client would wait for minutes. The parent tries again later anyway.
        unlessConfigured(made, "ipc.client.connect.max.retries", "3");
        unlessConfigured(made, "ipc.client.connect.max.retries.on.timeouts", "2");
        unlessConfigured(made, "dfs.client.failover.max.attempts", "6");
        unlessConfigured(made, "dfs.client.failover.connection.retries", "0");
        unlessConfigured(made, "dfs.client.retry.times.get-last-block-length", "1");
        unlessConfigured(made, "dfs.client.retry.interval-ms.get-last-block-length", "500");
        return made;
    }

    private static void unlessConfigured(Configuration conf, String name, String value) {
        String[] sources = conf.getPropertySources(name);
        if (sources == null || sources.length == 0 || sources[sources.length - 1].endsWith("-default.xml")) {
            conf.set(name, value);
        }
    }

    // -- Requests ---------------------------------------------------------------------------------------------------

    /** Writes the fields of one answer into an open JSON object. */
    private interface Answer {
        void write(JsonGenerator json) throws Exception;
    }

    /** Serves requests until the parent asks this process to end. If stdin is closed instead, the process halts at once. */
    private void serve(InputStream in, OutputStream out) throws IOException {
        try (JsonParser requests = JSON.createParser(in)) {
            while (requests.nextToken() == JsonToken.START_OBJECT) {
                asked = true;
                Map<String, Object> request = objectOf(requests);
                if ("end".equals(request.get("op"))) {
                    return;
                }
                ByteArrayOutputStream bytes = new ByteArrayOutputStream();
                Answer answer;
                try {
                    user.checkTGTAndReloginFromKeytab(); // needed for HTTP; Hadoop's RPC does this itself
                    if (client == null) {
                        client = new DFSClient(uri, conf);
                    }
                    answer = answerTo(request, bytes, out);
                } catch (Exception | OutOfMemoryError error) {
                    String path = request.get("path") instanceof String each ? each : "";
                    answer = json -> describe(json, error, path, user.getShortUserName());
                }
                write(out, answer);
                bytes.writeTo(out);
                out.flush();
                askedMs = System.currentTimeMillis();
                asked = false;
            }
        }
        Runtime.getRuntime().halt(0);
    }

    /** Ends this process when it is idle, because many parents may have a child. A parent starts a new child when necessary. */
    private void endWhenIdle() {
        while (asked || System.currentTimeMillis() - askedMs < IDLE_MS) {
            try {
                Thread.sleep(IDLE_MS / 20);
            } catch (InterruptedException never) {
                return;
            }
        }
        System.exit(0);
    }

    @SuppressWarnings("unchecked")
    private Answer answerTo(Map<String, Object> request, ByteArrayOutputStream bytes, OutputStream out) throws Exception {
        switch ((String) request.get("op")) {
            case "transaction":
                long newest = client.getNamenode().getCurrentEditLogTxid();
                return json -> json.writeNumberField("transaction", newest);
            case "namespace":
                return namespace();
            case "events":
                return events((Long) request.get("after"));
            case "describe":
                return describe((List<String>) request.get("paths"));
            case "list":
                return list((String) request.get("path"), (String) request.get("start"));
            case "lengths":
                return lengths((List<String>) request.get("paths"));
            case "open":
                return open((String) request.get("path"));
            case "read":
                return read((Long) request.get("file"), (Long) request.get("offset"), (Long) request.get("length"), bytes);
            case "close":
                DFSInputStream file = open.remove((Long) request.get("file"));
                if (file != null) {
                    file.close();
                }
                return json -> { };
            case "offered":
                return offeredImage();
            case "image":
                return fetchImage(Path.of((String) request.get("into")), out);
            default:
                throw new IllegalArgumentException("no such request: " + request.get("op"));
        }
    }

    // -- Events -----------------------------------------------------------------------------------------------------

    /**
     * Returns the events of one call of getEditsFromTxid. {@code through} is the last transaction read, even if it has no
     * events. Hadoop's own event stream does the same, but does not expose {@code through}.
     */
    private Answer events(long after) throws IOException {
        EventBatchList found = client.getNamenode().getEditsFromTxid(after + 1);
        if (found.getLastTxid() == -1) {
            // There is nothing newer, unless the NameNode's history has changed because an older image was restored.
            if (found.getSyncTxid() > 0 && found.getSyncTxid() < after) {
                long newest = client.getNamenode().getCurrentEditLogTxid();
                if (newest != -1 && newest < after) {
                    return missing(after + 1, newest);
                }
            }
            return json -> {
                json.writeArrayFieldStart("events");
                json.writeEndArray();
                json.writeNumberField("through", after);
                json.writeBooleanField("end", true);
            };
        }
        if (found.getFirstTxid() != after + 1) {
            return missing(after + 1, found.getFirstTxid());
        }
        return json -> {
            json.writeArrayFieldStart("events");
            for (EventBatch batch : found.getBatches()) {
                for (Event event : batch.getEvents()) {
                    json.writeStartArray();
                    json.writeNumber(batch.getTxid());
                    write(json, event);
                    json.writeEndArray();
                }
            }
            json.writeEndArray();
            json.writeNumberField("through", found.getLastTxid());
            json.writeBooleanField("end", found.getLastTxid() >= found.getSyncTxid());
        };
    }

    private static Answer missing(long expected, long actual) {
        return json -> describe(json, new MissingEventsException(expected, actual), "", "");
    }

    private static void write(JsonGenerator json, Event event) throws IOException {
        json.writeString(event.getEventType().name());
        String to = "";
        boolean directory = false;
        long timeMs = 0;
        String path;
        switch (event.getEventType()) {
            case CREATE -> {
                path = ((Event.CreateEvent) event).getPath();
                timeMs = ((Event.CreateEvent) event).getCtime();
                directory = ((Event.CreateEvent) event).getiNodeType() == Event.CreateEvent.INodeType.DIRECTORY;
            }
            case RENAME -> {
                path = ((Event.RenameEvent) event).getSrcPath();
                to = ((Event.RenameEvent) event).getDstPath();
                timeMs = ((Event.RenameEvent) event).getTimestamp();
            }
            case CLOSE -> {
                path = ((Event.CloseEvent) event).getPath();
                timeMs = ((Event.CloseEvent) event).getTimestamp();
            }
            case APPEND -> path = ((Event.AppendEvent) event).getPath();
            case METADATA -> {
                path = ((Event.MetadataUpdateEvent) event).getPath();
                timeMs = ((Event.MetadataUpdateEvent) event).getMtime();
            }
            case UNLINK -> {
                path = ((Event.UnlinkEvent) event).getPath();
                timeMs = ((Event.UnlinkEvent) event).getTimestamp();
            }
            case TRUNCATE -> {
                path = ((Event.TruncateEvent) event).getPath();
                timeMs = ((Event.TruncateEvent) event).getTimestamp();
            }
            default -> throw new IllegalStateException("unknown event " + event.getEventType());
        }
        json.writeString(path);
        json.writeString(to);
        json.writeBoolean(directory);
        json.writeNumber(timeMs);
    }

    // -- Status -----------------------------------------------------------------------------------------------------

    private Answer describe(List<String> paths) throws Exception {
        List<Row> rows = await(paths.stream().map(path -> askers.submit(() -> rowOf(path))).toList());
        return json -> {
            json.writeArrayFieldStart("rows");
            for (Row row : rows) {
                if (row == null) {
                    json.writeNull();
                } else {
                    row.write(json);
                }
            }
            json.writeEndArray();
        };
    }

    private static <T> List<T> await(List<Future<T>> asked) throws Exception {
        List<T> answers = new ArrayList<>(asked.size());
        try {
            for (Future<T> each : asked) {
                answers.add(each.get());
            }
        } catch (ExecutionException error) {
            asked.forEach(each -> each.cancel(false));
            throw error.getCause() instanceof Exception cause ? cause : error;
        }
        return answers;
    }

    private Row rowOf(String path) throws IOException {
        try {
            HdfsFileStatus status = client.getFileLinkInfo(path);
            if (status != null && !status.isDirectory() && !status.isSymlink()) {
                // The NameNode says only with the blocks whether a file is being written. A listing keeps the access time.
                DirectoryListing itself = client.listPaths(path, HdfsFileStatus.EMPTY_NAME, true);
                status = itself == null || itself.getPartialListing().length == 0 ? null : itself.getPartialListing()[0];
            }
            return status == null ? null : new Row(this, path, path, status);
        } catch (UnresolvedLinkException | ParentNotDirectoryException | java.io.FileNotFoundException notThere) {
            return null;
        } catch (RemoteException error) {
            IOException cause = error.unwrapRemoteException();
            if (cause instanceof ParentNotDirectoryException || cause instanceof java.io.FileNotFoundException) {
                return null;
            }
            if (cause instanceof org.apache.hadoop.security.AccessControlException && cause.getMessage().contains("is not a directory")) {
                return null; // NameNodes up to 2.8 respond with this error
            }
            throw new PathError(cause, path);
        } catch (IOException error) {
            throw new PathError(error, path);
        }
    }

    private Answer list(String directory, String start) throws Exception {
        DirectoryListing page = client.listPaths(directory, Base64.getDecoder().decode(start), true);
        if (page == null) {
            throw new java.io.FileNotFoundException("no such directory");
        }
        HdfsFileStatus[] found = page.getPartialListing();
        if (start.isEmpty() && found.length == 1 && found[0].getLocalNameInBytes().length == 0) {
            throw new java.io.FileNotFoundException("it is a file, not a directory");
        }
        String prefix = directory.endsWith("/") ? directory : directory + "/";
        List<Future<Row>> rows = new ArrayList<>();
        for (HdfsFileStatus status : found) {
            String name = text(status.getLocalNameInBytes());
            String path = prefix + new String(status.getLocalNameInBytes(), StandardCharsets.UTF_8);
            rows.add(askers.submit(() -> {
                try {
                    return new Row(this, name, path, status);
                } catch (java.io.FileNotFoundException gone) {
                    return null;
                }
            }));
        }
        List<Row> described = await(rows);
        return json -> {
            json.writeArrayFieldStart("rows");
            for (Row row : described) {
                if (row != null) {
                    row.write(json);
                }
            }
            json.writeEndArray();
            if (page.hasMore()) {
                json.writeStringField("next", Base64.getEncoder().encodeToString(page.getLastName()));
            }
        };
    }

    /** Current status of a file or directory. Requests ACL and zone, which listings leave out, only if the status shows one. */
    private record Row(String name, HdfsFileStatus status, String symlink, String zoneKey, List<String> acl) {
        Row(HdfsClient asking, String name, String path, HdfsFileStatus status) throws IOException {
            this(name, status, status.isSymlink() ? text(status.getSymlinkInBytes()) : null,
                    status.isDirectory() && status.isEncrypted() ? asking.zoneKey(path) : null,
                    status.hasAcl() ? asking.aclOf(path) : List.of());
        }

        void write(JsonGenerator json) throws IOException {
            json.writeStartArray();
            json.writeString(name);
            json.writeBoolean(status.isDirectory());
            json.writeNumber(status.getLen());
            json.writeNumber(status.getBlockSize());
            json.writeNumber(status.getReplication());
            json.writeString(status.getOwner());
            json.writeString(status.getGroup());
            json.writeString(status.getPermission().toString());
            json.writeNumber(status.getModificationTime());
            json.writeNumber(status.getAccessTime());
            json.writeNumber(status.getFileId());
            json.writeString(symlink);
            json.writeBoolean(status instanceof HdfsLocatedFileStatus located && located.getLocatedBlocks() != null
                    && located.getLocatedBlocks().isUnderConstruction());
            json.writeString(zoneKey);
            var policy = status.getErasureCodingPolicy();
            json.writeString(policy == null || policy.isReplicationPolicy() ? null : policy.getName());
            json.writeStartArray();
            for (String entry : acl) {
                json.writeString(entry);
            }
            json.writeEndArray();
            json.writeEndArray();
        }
    }

    private String zoneKey(String path) throws IOException {
        EncryptionZone zone;
        try {
            zone = client.getEZForPath(path);
        } catch (org.apache.hadoop.security.AccessControlException closed) {
            return null; // a user who may list the parent directory may still not read each entry
        }
        return zone != null && zone.getPath().equals(path) ? zone.getKeyName() : null;
    }

    private List<String> aclOf(String path) throws IOException {
        return client.getAclStatus(path).getEntries().stream().map(AclEntry::toString).toList();
    }

    /** Decodes a name; each byte that is not UTF-8 is written as {@code \xNN}. */
    private static String text(byte[] bytes) {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        } catch (CharacterCodingException notUtf8) {
            return spelled(bytes);
        }
    }

    private static String spelled(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        ByteBuffer left = ByteBuffer.wrap(bytes);
        var decoder = StandardCharsets.UTF_8.newDecoder(); // reports invalid bytes, which new String(…) would replace
        while (left.hasRemaining()) {
            var out = java.nio.CharBuffer.allocate(left.remaining());
            decoder.reset();
            var result = decoder.decode(left, out, true);
            text.append(out.flip());
            if (result.isError()) {
                for (int i = 0; i < result.length(); i++) {
                    text.append(String.format("\\x%02x", left.get() & 0xff));
                }
            }
        }
        return text.toString();
    }

    // -- Bytes ------------------------------------------------------------------------------------------------------

    /** Opens a file. While the file is being written, the length comes from a DataNode, because the NameNode's is outdated. */
    private Answer open(String path) throws IOException {
        DFSInputStream file = client.open(path);
        long id = ++opened;
        open.put(id, file);
        if (open.size() > OPEN_FILES) { // a later read of the least recently used file opens it again
            Long eldest = open.keySet().iterator().next();
            open.remove(eldest).close();
        }
        long length = file.getFileLength();
        return json -> {
            json.writeNumberField("file", id);
            json.writeNumberField("length", length);
        };
    }

    private Answer lengths(List<String> paths) throws Exception {
        List<Long> lengths = await(paths.stream().map(path -> askers.submit(() -> {
            try (DFSInputStream file = client.open(path)) {
                return file.getFileLength();
            } catch (IOException error) { // not permitted, or the last block is missing; reading the file reports the error
                return 0L;
            }
        })).toList());
        return json -> {
            json.writeArrayFieldStart("lengths");
            for (long length : lengths) {
                json.writeNumber(length);
            }
            json.writeEndArray();
        };
    }

    private Answer read(long id, long offset, long length, ByteArrayOutputStream bytes) throws IOException {
        DFSInputStream file = open.get(id);
        if (file == null) {
            return json -> json.writeBooleanField("closed", true);
        }
        long wanted = Math.min(Math.min(length, READ_BYTES), file.getFileLength() - offset);
        byte[] buffer = new byte[1 << 16];
        if (wanted > 0) {
            file.seek(offset);
        }
        while (bytes.size() < wanted) {
            int count = file.read(buffer, 0, (int) Math.min(buffer.length, wanted - bytes.size()));
            if (count < 0) {
                break;
            }
            bytes.write(buffer, 0, count);
        }
        return json -> json.writeNumberField("bytes", bytes.size());
    }

    // -- The image --------------------------------------------------------------------------------------------------

    /** Examines or downloads an image that a NameNode offers. */
    private interface Taker {
        Answer take(HttpURLConnection chosen) throws Exception;
    }

    private Answer fetchImage(Path into, OutputStream out) throws Exception {
        return newestImage(chosen -> {
            Path image = download(chosen, into, out);
            return json -> json.writeStringField("image", image.toString());
        });
    }

    /** Describes the image that {@code fetchImage} would fetch, from the response headers, without reading the body. */
    private Answer offeredImage() throws Exception {
        return newestImage(chosen -> {
            long transaction = transactionOf(chosen);
            String md5 = chosen.getHeaderField("X-MD5-Digest");
            return json -> {
                json.writeNumberField("transaction", transaction);
                json.writeStringField("md5", md5 == null ? "" : md5);
            };
        });
    }

    /** Applies {@code taker} to the newest image of all NameNodes that respond, preferring a standby's. */
    private Answer newestImage(Taker taker) throws Exception {
        List<HttpURLConnection> offered = new ArrayList<>();
        List<String> refused = new ArrayList<>();
        boolean forbidden = false;
        try {
            for (String address : standbyFirst(httpAddresses())) {
                try {
                    offered.add(offer(address));
                } catch (Exception error) {
                    forbidden |= error instanceof org.apache.hadoop.security.AccessControlException;
                    refused.add(address + ": " + (error.getMessage() == null ? error.toString() : error.getMessage()));
                }
            }
            HttpURLConnection chosen = null;
            for (HttpURLConnection each : offered) {
                if (chosen == null || transactionOf(each) > transactionOf(chosen)) {
                    chosen = each;
                }
            }
            if (chosen == null) {
                String reason = "no NameNode gives its image: " + String.join("; ", refused);
                throw forbidden ? new org.apache.hadoop.security.AccessControlException(reason) : new NoImage(reason);
            }
            for (HttpURLConnection each : offered) {
                if (each != chosen) {
                    each.disconnect();
                }
            }
            return taker.take(chosen);
        } finally {
            offered.forEach(HttpURLConnection::disconnect);
        }
    }

    private List<String> httpAddresses() {
        if (!settings.get("http").isEmpty()) {
            return List.of(settings.get("http").split(","));
        }
        boolean tls = conf.get("dfs.http.policy", "HTTP_ONLY").equals("HTTPS_ONLY");
        String key = tls ? "dfs.namenode.https-address" : "dfs.namenode.http-address";
        String scheme = tls ? "https://" : "http://";
        String port = tls ? ":9871" : ":9870";
        String nameservice = uri.getAuthority();
        List<String> found = new ArrayList<>();
        for (String id : conf.getTrimmedStrings("dfs.ha.namenodes." + nameservice)) {
            String rpc = conf.getTrimmed("dfs.namenode.rpc-address." + nameservice + "." + id, "");
            String http = conf.getTrimmed(key + "." + nameservice + "." + id, "");
            found.add(scheme + (http.isEmpty() ? rpc.replaceFirst(":\\d+$", "") + port : http));
        }
        if (found.isEmpty()) {
            String http = conf.getTrimmed(key, "");
            boolean anywhere = http.isEmpty() || http.startsWith("0.0.0.0");
            found.add(scheme + (anywhere ? uri.getHost() + (http.isEmpty() ? port : http.substring(7)) : http));
        }
        return found;
    }

    private List<String> standbyFirst(List<String> addresses) {
        if (addresses.size() < 2) {
            return addresses;
        }
        List<String> standby = new ArrayList<>();
        List<String> others = new ArrayList<>();
        for (String address : addresses) {
            String status = "";
            try {
                HttpURLConnection asked = connect(address + "/jmx?qry=Hadoop:service=NameNode,name=NameNodeStatus");
                try (InputStream body = asked.getInputStream()) {
                    status = new String(body.readNBytes(1 << 16), StandardCharsets.UTF_8);
                }
            } catch (Exception silent) {
                status = ""; // the request for the image reports the error
            }
            (status.contains("\"standby\"") ? standby : others).add(address);
        }
        standby.addAll(others);
        return standby;
    }

    /** Returns the ids of the namespace, which each NameNode's JMX shows to all users; empty if no NameNode shows them. */
    private Answer namespace() {
        Map<String, String> found = new HashMap<>();
        for (String address : httpAddresses()) {
            try {
                found.put("cluster", attribute(address, "ClusterId"));
                found.put("pool", attribute(address, "BlockPoolId"));
                break;
            } catch (Exception silent) {
                found.clear(); // the ids serve as evidence if available, but are not required
            }
        }
        return json -> {
            json.writeStringField("cluster", found.getOrDefault("cluster", ""));
            json.writeStringField("pool", found.getOrDefault("pool", ""));
        };
    }

    private String attribute(String address, String name) throws Exception {
        // Request a single attribute, because all attributes together include a line for each DataNode.
        HttpURLConnection asked = connect(address + "/jmx?get=Hadoop:service=NameNode,name=NameNodeInfo::" + name, ASIDE_MS);
        try (InputStream body = asked.getInputStream()) {
            String text = new String(body.readNBytes(1 << 16), StandardCharsets.UTF_8);
            Matcher value = Pattern.compile("\"" + name + "\"\\s*:\\s*\"([^\"]*)\"").matcher(text);
            return value.find() ? value.group(1) : "";
        }
    }

    private HttpURLConnection connect(String url) throws Exception {
        return connect(url, Integer.MAX_VALUE);
    }

    private HttpURLConnection connect(String url, int mostMs) throws Exception {
        int timeoutMs = Math.min(mostMs, Integer.parseInt(settings.get("http_timeout_ms")));
        boolean secure = UserGroupInformation.isSecurityEnabled();
        if (secure) {
            user.checkTGTAndReloginFromKeytab();
        }
        URLConnectionFactory factory = URLConnectionFactory.newDefaultURLConnectionFactory(timeoutMs, timeoutMs, conf);
        String named = secure ? url : url + (url.contains("?") ? "&" : "?") + "user.name=" + user.getShortUserName();
        HttpURLConnection asked = (HttpURLConnection) factory.openConnection(new URL(named), secure);
        asked.setInstanceFollowRedirects(false); // another host's response says nothing about this NameNode
        return asked;
    }

    private HttpURLConnection offer(String address) throws Exception {
        HttpURLConnection asked = connect(address + "/imagetransfer?getimage=1&txid=latest");
        int code = asked.getResponseCode();
        if (code == HttpURLConnection.HTTP_UNAUTHORIZED || code == HttpURLConnection.HTTP_FORBIDDEN) {
            throw new org.apache.hadoop.security.AccessControlException(
                    "HTTP " + code + " " + asked.getResponseMessage() + " (it is for superusers and dfs.cluster.administrators)");
        }
        if (code != HttpURLConnection.HTTP_OK) {
            throw new NoImage("HTTP " + asked.getResponseCode() + " " + asked.getResponseMessage());
        }
        transactionOf(asked);
        return asked;
    }

    private static long transactionOf(HttpURLConnection offered) throws NoImage {
        String name = String.valueOf(offered.getHeaderField("X-Image-Edits-Name"));
        Matcher image = IMAGE.matcher(name);
        if (!image.matches()) {
            throw new NoImage("it does not say which image it sends (" + name + ")");
        }
        return Long.parseLong(image.group(1));
    }

    private Path download(HttpURLConnection chosen, Path into, OutputStream out) throws Exception {
        String name = chosen.getHeaderField("X-Image-Edits-Name");
        long total = chosen.getContentLengthLong();
        String expected = chosen.getHeaderField("X-MD5-Digest");
        Path spooled = into.resolve("." + name + ".part");
        MessageDigest md5 = MessageDigest.getInstance("MD5");
        long most = total >= 0 ? total : Files.getFileStore(into).getUsableSpace() / 2;
        long done = 0;
        try {
            try (InputStream body = chosen.getInputStream();
                    OutputStream file = new DigestOutputStream(Files.newOutputStream(spooled), md5)) {
                byte[] buffer = new byte[1 << 20];
                long reported = System.nanoTime();
                for (int count = body.read(buffer); count >= 0; count = body.read(buffer)) {
                    file.write(buffer, 0, count);
                    done += count;
                    if (done > most) {
                        throw new NoImage(name + " has no end: after " + done + " bytes no more is taken");
                    }
                    if (System.nanoTime() - reported > 250_000_000L) {
                        reported = System.nanoTime();
                        progress(out, done, total);
                    }
                }
            }
            if (total >= 0 && done != total) {
                throw new NoImage(name + " broke off after " + done + " of " + total + " bytes");
            }
            String actual = HexFormat.of().formatHex(md5.digest());
            if (expected != null && !expected.equals(actual)) {
                throw new NoImage(name + " came damaged: its MD5 is " + actual + ", and should be " + expected);
            }
            progress(out, done, total);
            Path image = into.resolve(name);
            if (expected != null) {
                Files.writeString(into.resolve(name + ".md5"), expected + " *" + name + "\n");
            }
            Files.move(spooled, image, StandardCopyOption.ATOMIC_MOVE);
            return image;
        } finally {
            Files.deleteIfExists(spooled);
        }
    }

    private static void progress(OutputStream out, long done, long total) throws IOException {
        write(out, json -> {
            json.writeArrayFieldStart("progress");
            json.writeNumber(done);
            json.writeNumber(total);
            json.writeEndArray();
        });
        out.flush();
    }

    // -- JSON -------------------------------------------------------------------------------------------------------

    /** No image is available; the message gives the reason. */
    @SuppressWarnings("serial")
    private static final class NoImage extends IOException {
        NoImage(String reason) {
            super(reason);
        }
    }

    /** An error that concerns only one of the requested paths. */
    @SuppressWarnings("serial")
    private static final class PathError extends IOException {
        final String path;

        PathError(IOException cause, String path) {
            super(cause);
            this.path = path;
        }
    }

    private static void describe(JsonGenerator json, Throwable error, String path, String user) throws IOException {
        Throwable cause = error;
        String about = path;
        if (cause instanceof java.lang.reflect.UndeclaredThrowableException && cause.getCause() != null) {
            cause = cause.getCause();
        }
        if (cause instanceof PathError pathError) {
            about = pathError.path;
            cause = pathError.getCause();
        }
        if (cause instanceof RemoteException remote) {
            cause = remote.unwrapRemoteException();
        }
        json.writeObjectFieldStart("error");
        json.writeStringField("class", cause instanceof RemoteException remote ? remote.getClassName() : cause.getClass().getName());
        String message = cause.getMessage() == null ? cause.toString() : cause.getMessage();
        json.writeStringField("message", message.split("\n\tat |\r")[0].strip());
        json.writeStringField("path", about);
        json.writeStringField("user", user);
        if (cause instanceof MissingEventsException missing) {
            json.writeNumberField("expected", missing.getExpectedTxid());
            json.writeNumberField("actual", missing.getActualTxid());
        }
        json.writeEndObject();
    }

    private static void write(OutputStream out, Answer answer) throws IOException {
        // Build the line in memory first, because an error would otherwise leave half a line in the stream.
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        try (JsonGenerator json = JSON.createGenerator(line)) {
            json.writeStartObject();
            answer.write(json);
            json.writeEndObject();
        } catch (IOException error) {
            throw error;
        } catch (Exception error) {
            throw new IOException(error);
        }
        line.write('\n');
        line.writeTo(out);
        out.flush();
    }

    private static Map<String, String> fieldsOf(String text) throws IOException {
        Map<String, String> fields = new HashMap<>();
        try (JsonParser json = JSON.createParser(text)) {
            json.nextToken();
            objectOf(json).forEach((name, value) -> fields.put(name, (String) value));
        }
        return fields;
    }

    /** Parses a request; values are strings, integers, or lists of strings. */
    private static Map<String, Object> objectOf(JsonParser json) throws IOException {
        Map<String, Object> fields = new HashMap<>();
        while (json.nextToken() == JsonToken.FIELD_NAME) {
            String name = json.currentName();
            switch (json.nextToken()) {
                case VALUE_NUMBER_INT -> fields.put(name, json.getLongValue());
                case VALUE_STRING -> fields.put(name, json.getText());
                case START_ARRAY -> {
                    List<String> texts = new ArrayList<>();
                    while (json.nextToken() != JsonToken.END_ARRAY) {
                        texts.add(json.getText());
                    }
                    fields.put(name, texts);
                }
                default -> throw new IOException("a request has a value of a kind that none has: " + name);
            }
        }
        return fields;
    }
}
