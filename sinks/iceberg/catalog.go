package iceberg

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strconv"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/catalog/rest"
	sqlcatalog "github.com/apache/iceberg-go/catalog/sql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver pgx
	_ "modernc.org/sqlite"             // the driver sqlite

	"taximeter/internal/access"
)

// catalogName is under which a SQL catalog's tables list ours.
const catalogName = "taximeter"

// openCatalog connects to the catalog that is configured; close ends the connection.
func openCatalog(ctx context.Context, cfg Config) (c catalog.Catalog, close func() error, err error) {
	kind, address, err := cfg.catalogKind()
	if err != nil {
		return nil, nil, fmt.Errorf("lake.catalog: %w", err)
	}
	location, err := cfg.Warehouse.location()
	if err != nil {
		return nil, nil, err
	}
	props := fileProperties(cfg.Warehouse.S3)
	props["warehouse"] = location
	switch kind {
	case catalogREST:
		c, err := openREST(ctx, cfg, address, props)
		if err != nil {
			return nil, nil, err
		}
		return c, c.Close, nil
	case catalogPostgres:
		return openSQL(ctx, "pgx", address, sqlcatalog.Postgres, props)
	}
	if err := os.MkdirAll(filepath.Dir(address), 0o755); err != nil {
		return nil, nil, fmt.Errorf("lake.catalog: %w", err)
	}
	// A writer waits for another's lock, also for that of another process.
	dsn := "file:" + (&url.URL{Path: address}).EscapedPath() + "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_txlock=immediate"
	return openSQL(ctx, "sqlite", dsn, sqlcatalog.SQLite, props)
}

func openSQL(ctx context.Context, driver, dsn string, dialect sqlcatalog.SupportedDialect, props iceberg.Properties) (catalog.Catalog, func() error, error) {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return nil, nil, fmt.Errorf("lake.catalog: %w", err)
	}
	if dialect == sqlcatalog.SQLite {
		db.SetMaxOpenConns(1) // within a process the pool queues, rather than SQLite failing
	}
	if err := db.PingContext(ctx); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("lake.catalog: connect: %w", err), db.Close())
	}
	c, err := sqlcatalog.NewCatalog(catalogName, db, dialect, props)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("lake.catalog: %w", err), db.Close())
	}
	return c, db.Close, nil
}

func openREST(ctx context.Context, cfg Config, address string, props iceberg.Properties) (*rest.Catalog, error) {
	delete(props, "warehouse") // the catalog's own name for it, not a place
	options := []rest.Option{rest.WithAdditionalProps(props)}
	if cfg.RESTWarehouse != "" {
		options = append(options, rest.WithWarehouseLocation(cfg.RESTWarehouse))
	}
	if cfg.Token != "" {
		options = append(options, rest.WithOAuthToken(cfg.Token))
	}
	if cfg.Credential != "" {
		options = append(options, rest.WithCredential(cfg.Credential))
	}
	if cfg.OAuthServer != "" {
		server, err := url.Parse(cfg.OAuthServer)
		if err != nil {
			return nil, fmt.Errorf("lake.oauthServer: %w", err)
		}
		options = append(options, rest.WithAuthURI(server))
	}
	if cfg.OAuthScope != "" {
		options = append(options, rest.WithScope(cfg.OAuthScope))
	}
	c, err := rest.NewCatalog(ctx, catalogName, address, options...)
	if errors.Is(err, rest.ErrUnauthorized) || errors.Is(err, rest.ErrOAuthError) || errors.Is(err, rest.ErrForbidden) {
		return nil, fmt.Errorf("lake.catalog: %s does not take us for somebody it knows: %w; set lake.token or lake.credential", access.Redacted(address), err)
	}
	if err != nil {
		return nil, fmt.Errorf("lake.catalog: connect to %s: %w", access.Redacted(address), err)
	}
	return c, nil
}

// fileProperties says how the warehouse's files are reached.
func fileProperties(s access.S3) iceberg.Properties {
	if s.Bucket == "" {
		return iceberg.Properties{}
	}
	p := iceberg.Properties{"s3.region": s.Region, "s3.force-virtual-addressing": strconv.FormatBool(!s.PathStyle)}
	if s.AccessKey != "" { // else the machine's own
		p["s3.access-key-id"], p["s3.secret-access-key"] = s.AccessKey, s.SecretKey
	}
	if s.Endpoint != "" {
		p["s3.endpoint"] = s.Endpoint
	}
	return p
}
