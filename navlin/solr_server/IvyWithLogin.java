import java.net.Authenticator;
import java.net.PasswordAuthentication;
import java.net.URI;
import java.net.URL;

/**
 * Runs Ivy, with a log-in for the repository. Ivy's own settings need the realm of the repository's answer, which nobody knows in
 * advance. The user and the password are in the environment, because every user of the machine can read a command line.
 */
public final class IvyWithLogin {
  private IvyWithLogin() {}

  public static void main(String[] arguments) throws Exception {
    URL repository = URI.create(System.getProperty("navlin.repository")).toURL();
    Authenticator.setDefault(new Login(repository));
    org.apache.ivy.Main.main(arguments);
  }

  /** Answers the repository alone: not a proxy, and no server that the repository redirects to. */
  private static final class Login extends Authenticator {
    private final URL repository;

    Login(URL repository) {
      this.repository = repository;
    }

    @Override
    protected PasswordAuthentication getPasswordAuthentication() {
      URL asked = getRequestingURL();
      boolean own =
          getRequestorType() == RequestorType.SERVER
              && asked != null
              && asked.getProtocol().equals(repository.getProtocol())
              && asked.getHost().equalsIgnoreCase(repository.getHost())
              && port(asked) == port(repository);
      if (!own) {
        return null;
      }
      String password = System.getenv("NAVLIN_JARS_PASSWORD");
      return new PasswordAuthentication(System.getenv("NAVLIN_JARS_USER"), password.toCharArray());
    }

    private static int port(URL url) {
      return url.getPort() == -1 ? url.getDefaultPort() : url.getPort();
    }
  }
}
