package iceberg

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"taximeter/internal/access"
)

// Config says where the lake is and how it is kept in shape.
type Config struct {
	// Catalog holds where each table stands: a file for SQLite ("sqlite:data/lake/catalog.db",
	// one machine), PostgreSQL ("postgres://user:password@host/db") or a REST catalog
	// ("https://host/path"). "" = no lake.
	Catalog string `yaml:"catalog" env:"CATALOG"`
	// Token is the bearer token by which a REST catalog knows us; or Credential, as
	// client:secret, gets one by OAuth2 and renews it. At most one of them.
	Token      string `yaml:"token" env:"TOKEN"`
	Credential string `yaml:"credential" env:"CREDENTIAL"`
	// OAuthServer is the URL where tokens are issued ("" = the catalog's own v1/oauth/tokens),
	// OAuthScope what is asked for ("" = "catalog").
	OAuthServer string `yaml:"oauthServer" env:"OAUTH_SERVER"`
	OAuthScope  string `yaml:"oauthScope" env:"OAUTH_SCOPE"`
	// RESTWarehouse names the warehouse to a REST catalog that serves several.
	RESTWarehouse string `yaml:"restWarehouse" env:"REST_WAREHOUSE"`

	// Database is the catalog's namespace for our tables; one for each taximeter namespace.
	Database string `yaml:"database" env:"DATABASE"`
	// Warehouse is where files lie: a folder that every node and reader sees under the same
	// path, or S3 (as the checkpoints' store; a bucket encrypts by its own default).
	Warehouse Warehouse `yaml:"warehouse" envPrefix:"WAREHOUSE_"`

	// ChunkRows is how many rows of a table are held, sorted and written at once: memory (0.4 KB
	// a row) against the number of files after an outage.
	ChunkRows int `yaml:"chunkRows" env:"CHUNK_ROWS"`
	// OnLoss says what happens when Kafka no longer holds offsets that the lake lacks: "refuse"
	// stops the lake until an operator decides; "record" goes on and writes into the table of
	// verdicts how many rows are missing.
	OnLoss string `yaml:"onLoss" env:"ON_LOSS"`

	Maintenance Maintenance `yaml:"maintenance" envPrefix:"MAINTENANCE_"`
}

// Warehouse is a folder or a bucket.
type Warehouse struct {
	Folder string    `yaml:"folder" env:"FOLDER"`
	S3     access.S3 `yaml:"s3" envPrefix:"S3_"`
}

// Maintenance bounds files, metadata and history.
type Maintenance struct {
	// TargetMB is the size that compaction makes files of, in MB of Parquet.
	TargetMB int `yaml:"targetMB" env:"TARGET_MB"`
	// SmallFiles of one partition, or so many files of deletes, are worth a compaction. Less
	// reads faster and rewrites more often.
	SmallFiles int `yaml:"smallFiles" env:"SMALL_FILES"`
	// ClosedAfter is how long after its day's end a partition is merged however few files it has.
	ClosedAfter time.Duration `yaml:"closedAfter" env:"CLOSED_AFTER"`
	// History is how long snapshots stay: for readers at work and for time travel. Recovery
	// needs none of them.
	History time.Duration `yaml:"history" env:"HISTORY"`
	// OrphanAge is how old a file is before it may be removed because nothing cites it.
	OrphanAge time.Duration `yaml:"orphanAge" env:"ORPHAN_AGE"`
	// OrphansEvery is how often the whole warehouse is listed for such files.
	OrphansEvery time.Duration `yaml:"orphansEvery" env:"ORPHANS_EVERY"`
}

// minOrphanAge is longer than any commit may take from its first file to its end.
const minOrphanAge = 72 * time.Hour

// Default is a lake that is switched off, complete but for Catalog.
func Default() Config {
	return Config{
		Database:  "taximeter",
		Warehouse: Warehouse{Folder: "data/lake", S3: access.S3{Region: "us-east-1"}},
		ChunkRows: 250_000,
		OnLoss:    lossRefuse,
		Maintenance: Maintenance{TargetMB: 128, SmallFiles: 20, ClosedAfter: 6 * time.Hour, History: 24 * time.Hour,
			OrphanAge: minOrphanAge, OrphansEvery: 24 * time.Hour},
	}
}

const (
	lossRefuse = "refuse"
	lossRecord = "record"
)

// Enabled reports whether there is a lake at all.
func (c Config) Enabled() bool { return c.Catalog != "" }

// Validate lists every fault with its path below "lake" and the mend; none of a lake that is
// switched off.
func (c Config) Validate() (faults []string) {
	if !c.Enabled() {
		return nil
	}
	fault := func(path, format string, args ...any) {
		faults = append(faults, "lake."+path+": "+fmt.Sprintf(format, args...))
	}
	if _, _, err := c.catalogKind(); err != nil {
		fault("catalog", "%v", err)
	}
	if c.Token != "" && c.Credential != "" {
		fault("credential", "give a token or a credential, not both")
	}
	if c.Credential == "" && (c.OAuthServer != "" || c.OAuthScope != "") {
		fault("credential", "is empty although oauthServer or oauthScope is given: write client:secret")
	}
	if c.Database == "" || strings.ContainsAny(c.Database, "./ ") {
		fault("database", "%q: use one plain name", c.Database)
	}
	s := c.Warehouse.S3
	switch {
	case c.Warehouse.Folder == "" && s.Bucket == "":
		fault("warehouse", "name a folder or an s3.bucket")
	case s.Bucket != "" && (s.AccessKey == "") != (s.SecretKey == ""):
		fault("warehouse.s3", "give both accessKey and secretKey, or none for the machine's own (environment, profile, role)")
	case s.Bucket != "" && s.SSE != "":
		fault("warehouse.s3.sse", "the lake's files are encrypted by the bucket's default; set it there and leave this empty")
	}
	if c.ChunkRows < 1000 {
		fault("chunkRows", "%d: use at least 1000", c.ChunkRows)
	}
	if c.OnLoss != lossRefuse && c.OnLoss != lossRecord {
		fault("onLoss", "%q: use refuse or record", c.OnLoss)
	}
	m := c.Maintenance
	if m.TargetMB < 1 {
		fault("maintenance.targetMB", "%d: use at least 1", m.TargetMB)
	}
	if m.SmallFiles < 2 {
		fault("maintenance.smallFiles", "%d: use at least 2", m.SmallFiles)
	}
	if m.History < time.Hour {
		fault("maintenance.history", "%s: use at least 1h, or readers at work lose their files", m.History)
	}
	if m.OrphanAge < minOrphanAge {
		fault("maintenance.orphanAge", "%s: use at least %s: a younger file may belong to a commit under way", m.OrphanAge, minOrphanAge)
	}
	return faults
}

type catalogKind uint8

const (
	catalogSQLite catalogKind = iota
	catalogPostgres
	catalogREST
)

// catalogKind reads Catalog; address is what its driver wants.
func (c Config) catalogKind() (kind catalogKind, address string, err error) {
	if file, ok := strings.CutPrefix(c.Catalog, "sqlite:"); ok && file != "" {
		return catalogSQLite, file, nil
	}
	if u, err := url.Parse(c.Catalog); err == nil && u.Host != "" {
		switch u.Scheme {
		case "postgres", "postgresql":
			return catalogPostgres, c.Catalog, nil
		case "http", "https":
			return catalogREST, c.Catalog, nil
		}
	}
	return 0, "", fmt.Errorf("%q is none of sqlite:FILE, postgres://HOST/DATABASE and https://HOST", access.Redacted(c.Catalog))
}

// location is the URI below which all files lie.
func (w Warehouse) location() (string, error) {
	if s := w.S3; s.Bucket != "" {
		return "s3://" + strings.TrimSuffix(s.Bucket+"/"+strings.Trim(s.Prefix, "/"), "/"), nil
	}
	folder, err := filepath.Abs(w.Folder)
	if err != nil {
		return "", fmt.Errorf("lake.warehouse.folder: %w", err)
	}
	return "file://" + filepath.ToSlash(folder), nil
}
