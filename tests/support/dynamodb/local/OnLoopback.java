import java.net.InetSocketAddress;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.handler.ContextHandler;
import software.amazon.dynamodb.services.local.server.LocalDynamoDBRequestHandler;
import software.amazon.dynamodb.services.local.server.LocalDynamoDBServerHandler;

/**
 * DynamoDB Local in memory, with one set of tables for all callers, on a port of 127.0.0.1; its own program
 * listens on all interfaces. Without a port it only shows that it could.
 */
public final class OnLoopback {
    public static void main(String[] arguments) {
        try {
            var engine = new LocalDynamoDBRequestHandler(0, true, null, true, false);
            if (arguments.length == 0) {
                System.exit(0);
            }
            var server = new Server(new InetSocketAddress("127.0.0.1", Integer.parseInt(arguments[0])));
            server.setHandler(new ContextHandler(new LocalDynamoDBServerHandler(engine, null)));
            server.start();
        } catch (Throwable failure) {
            failure.printStackTrace();
            System.exit(1); // the engine's own threads would keep the process
        }
    }
}
