import jakarta.servlet.FilterChain;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpFilter;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.util.EnumSet;
import java.util.Map;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.rest.RESTCatalogAdapter;
import org.apache.iceberg.rest.RESTCatalogServlet;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.servlet.FilterHolder;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;

/**
 * Iceberg's own REST catalog on 127.0.0.1, its tables listed in SQLite and its files in S3. It knows
 * those who bear the token, or who got one from it by OAuth2's client credentials.
 *
 * <p>Arguments: port, SQLite file, warehouse (s3://...), S3 endpoint, S3 region, token, client id.
 */
public class RestCatalog {
  public static void main(String[] args) throws Exception {
    var catalog =
        CatalogUtil.buildIcebergCatalog(
            "taximeter",
            Map.of(
                "catalog-impl", "org.apache.iceberg.jdbc.JdbcCatalog",
                "uri", "jdbc:sqlite:" + args[1],
                "clients", "1", // SQLite has one writer
                "jdbc.schema-version", "V1",
                "warehouse", args[2],
                "io-impl", "org.apache.iceberg.aws.s3.S3FileIO",
                "http-client.type", "urlconnection",
                "s3.endpoint", args[3],
                "client.region", args[4],
                "s3.path-style-access", "true"),
            null);
    var token = "Bearer " + args[5];
    var issued = "Bearer client-credentials-token:sub=" + args[6];
    var handler = new ServletContextHandler();
    handler.addFilter(
        new FilterHolder(
            new HttpFilter() {
              @Override
              protected void doFilter(HttpServletRequest req, HttpServletResponse res, FilterChain chain)
                  throws IOException, ServletException {
                var known = req.getHeader("Authorization");
                if (token.equals(known) || issued.equals(known) || req.getRequestURI().endsWith("/oauth/tokens")) {
                  chain.doFilter(req, res);
                  return;
                }
                res.setStatus(401);
                res.setContentType("application/json");
                res.getWriter().write("{\"error\":{\"message\":\"who are you?\",\"type\":\"NotAuthorizedException\",\"code\":401}}");
              }
            }),
        "/*",
        EnumSet.allOf(jakarta.servlet.DispatcherType.class));
    handler.addServlet(new ServletHolder(new RESTCatalogServlet(new RESTCatalogAdapter(catalog))), "/*");
    var server = new Server(new InetSocketAddress("127.0.0.1", Integer.parseInt(args[0])));
    server.setHandler(handler);
    server.start();
    server.join();
  }
}
