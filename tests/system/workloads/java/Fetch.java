import software.amazon.awssdk.auth.credentials.AwsSessionCredentials;
import software.amazon.awssdk.auth.credentials.DefaultCredentialsProvider;

/** The default chain of the AWS SDK for Java fetches credentials, until there are others. */
public class Fetch {
    public static void main(String[] arguments) throws InterruptedException {
        var provider = DefaultCredentialsProvider.builder().build();
        String last = "";
        for (int sets = 0; sets < 2; Thread.sleep(100)) {
            var found = (AwsSessionCredentials) provider.resolveCredentials();
            if (!found.accessKeyId().equals(last)) {
                last = found.accessKeyId();
                sets++;
                System.out.printf(
                    "[\"%s\", \"%s\", \"%s\"]%n", last, found.secretAccessKey(), found.sessionToken());
                System.out.flush();
            }
        }
        System.exit(0);
    }
}
