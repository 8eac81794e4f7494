package node

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
	"go.yaml.in/yaml/v3"

	"taximeter/checkpoint"
	"taximeter/cluster"
	"taximeter/internal/access"
	"taximeter/sinks/iceberg"
	"taximeter/sinks/webhook"
)

// Config is a node's configuration: Default, then the YAML file, then TAXIMETER_*
// environment variables, then flags. Unknown keys fail.
type Config struct {
	// Namespace names this installation in the object store, in transactional ids and in the
	// headers of what it writes.
	Namespace string `yaml:"namespace" env:"NAMESPACE"`
	// NodeID names this node in the manifests; unique in the cluster, the same after a
	// restart. Default: the host name.
	NodeID string `yaml:"nodeId" env:"NODE_ID"`
	// Data is the folder for local state. It may be lost: it is a copy of what lies in Store.
	Data string `yaml:"data" env:"DATA"`

	Kafka      access.Kafka    `yaml:"kafka" envPrefix:"KAFKA_"`
	Registry   access.Registry `yaml:"registry" envPrefix:"REGISTRY_"`
	Store      Store           `yaml:"store" envPrefix:"STORE_"`
	Checkpoint Checkpoint      `yaml:"checkpoint" envPrefix:"CHECKPOINT_"`
	Meter      Meter           `yaml:"meter" envPrefix:"METER_"`
	Memory     Memory          `yaml:"memory" envPrefix:"MEMORY_"`
	Admin      Admin           `yaml:"admin" envPrefix:"ADMIN_"`
	Cluster    Cluster         `yaml:"cluster" envPrefix:"CLUSTER_"`
	// Lake is where all events and results are kept for years; the same on every node.
	Lake      iceberg.Config `yaml:"lake" envPrefix:"LAKE_"`
	Analytics Analytics      `yaml:"analytics" envPrefix:"ANALYTICS_"`
	// Alerts says which people are told of alerts, and where.
	Alerts webhook.Config `yaml:"alerts" envPrefix:"ALERTS_"`
}

// Analytics are the tables for dashboards; the same on every node.
type Analytics struct {
	// URL of the database: sqlite:PATH (one node alone), postgres://USER@HOST/DATABASE or
	// clickhouse://USER@HOST:9000/DATABASE; "" = none.
	URL string `yaml:"url" env:"URL"`
}

// Cluster says how this node meets the others. Without Listen it is alone: one node runs
// all partitions of the namespace.
type Cluster struct {
	Listen    string `yaml:"listen" env:"LISTEN"`       // host:port of the gossip, UDP and TCP; "" = alone
	Advertise string `yaml:"advertise" env:"ADVERTISE"` // IP:port as the others see it; "" = as Listen
	// Seeds are host:port of any other nodes; a name stands for all its addresses.
	Seeds []string `yaml:"seeds" env:"SEEDS"`
	// Bootstrap lets this node begin a cluster though it met nobody. Set it on the first node
	// only, and only for the first start.
	Bootstrap bool `yaml:"bootstrap" env:"BOOTSTRAP"`
	// Keys encrypt the gossip: hexadecimal, 16, 24 or 32 bytes each, the first one encrypts.
	Keys []string `yaml:"keys" env:"KEYS"`
	// KeysFile holds the keys instead, separated by commas, spaces or lines. It is read again
	// when it changes, so that keys are rotated without a restart.
	KeysFile string `yaml:"keysFile" env:"KEYS_FILE"`
	// Allowed are the networks, as CIDR, that members may have addresses in; empty = all.
	Allowed []string `yaml:"allowed" env:"ALLOWED"`
	// Remote is host:port where this node answers the others' questions.
	Remote string `yaml:"remote" env:"REMOTE"`
	// TLS makes the nodes prove to each other who they are; without it whoever reaches Remote
	// may ask about trips.
	TLS TLS `yaml:"tls" envPrefix:"TLS_"`
	// Protocol is the highest protocol that this node speaks; 0 = all it can. Hold it during
	// an upgrade to keep the way back: once every member speaks a later one, so does the
	// namespace, for ever.
	Protocol int    `yaml:"protocol" env:"PROTOCOL"`
	Weight   int    `yaml:"weight" env:"WEIGHT"` // capacity relative to the other nodes'
	Zone     string `yaml:"zone" env:"ZONE"`     // availability zone; "" = unknown
	// Standbys is how many other nodes keep each partition's newest checkpoint on their disks,
	// to take it over without fetching it; 0 = none. Each costs the traffic of the
	// checkpoints, and disk, once more.
	Standbys int `yaml:"standbys" env:"STANDBYS"`
	// StandbyMaxMB bounds the disk that copies of other nodes' partitions take here.
	StandbyMaxMB int64 `yaml:"standbyMaxMB" env:"STANDBY_MAX_MB"`
}

// Store is where checkpoints live: a folder that every node sees, or S3.
type Store struct {
	Folder string    `yaml:"folder" env:"FOLDER"`
	S3     access.S3 `yaml:"s3" envPrefix:"S3_"`
}

// Checkpoint drives the cuts.
type Checkpoint struct {
	// Interval between checkpoints. Longer costs replay after a crash and delays bills by
	// as much; shorter costs object-store requests.
	Interval time.Duration `yaml:"interval" env:"INTERVAL"`
	// Deadline is how long a checkpoint waits for slow partitions before it goes without them.
	Deadline time.Duration `yaml:"deadline" env:"DEADLINE"`
	Retain   int           `yaml:"retain" env:"RETAIN"` // checkpoints of each node kept restorable; more costs space
	// MaxPending is how many outboxes of a partition may wait for a sink (Kafka, the lake, the
	// analytical tables) before it stops sealing: how long a sink may be down.
	MaxPending int `yaml:"maxPending" env:"MAX_PENDING"`
}

// Meter is what the contract leaves to configuration. It must be the same on every node.
type Meter struct {
	MaxSpeedKmh float64 `yaml:"maxSpeedKmh" env:"MAX_SPEED_KMH"` // track filter; 0 = no filter
}

// Memory bounds what stays in memory.
type Memory struct {
	ResidentTrips int   `yaml:"residentTrips" env:"RESIDENT_TRIPS"` // per partition, beyond it clean trips leave
	IdleSeals     int64 `yaml:"idleSeals" env:"IDLE_SEALS"`         // trips untouched for so many checkpoints leave
	CacheMB       int64 `yaml:"cacheMB" env:"CACHE_MB"`             // block cache of the state stores, all partitions together
}

// Default works as it is against a local Kafka and registry, with checkpoints in ./data.
func Default() Config {
	host, err := os.Hostname()
	if err != nil {
		host = "node"
	}
	return Config{
		Namespace:  "taximeter",
		NodeID:     host,
		Data:       "data/state",
		Kafka:      access.Kafka{Brokers: []string{"127.0.0.1:9092"}},
		Registry:   access.Registry{URL: "http://127.0.0.1:8081"},
		Store:      Store{Folder: "data/checkpoints", S3: access.S3{Region: "us-east-1"}},
		Checkpoint: Checkpoint{Interval: 30 * time.Second, Deadline: 10 * time.Second, Retain: 20, MaxPending: 240},
		Meter:      Meter{MaxSpeedKmh: 160},
		Memory:     Memory{ResidentTrips: 100_000, IdleSeals: 10, CacheMB: 256},
		Admin:      Admin{Listen: "127.0.0.1:8080", Open: []string{"/healthz", "/readyz", "/metrics"}},
		Cluster:    Cluster{Remote: "127.0.0.1:7947", Weight: 100, Standbys: 1, StandbyMaxMB: 20 << 10},
		Lake:       iceberg.Default(),
		Alerts:     webhook.Default(),
	}
}

// Load lays a YAML file ("" = none) and the environment over Default.
func Load(path string) (Config, error) {
	c := Default()
	if path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return Config{}, fmt.Errorf("configuration: %w", err)
		}
		d := yaml.NewDecoder(bytes.NewReader(text))
		d.KnownFields(true)
		if err := d.Decode(&c); err != nil && !errors.Is(err, io.EOF) {
			return Config{}, configFault(path, err)
		}
	}
	if err := env.ParseWithOptions(&c, env.Options{Prefix: "TAXIMETER_"}); err != nil {
		return Config{}, fmt.Errorf("configuration from the environment: %w", err)
	}
	if c.Store.S3.Bucket != "" {
		c.Store.Folder = ""
	}
	return c, nil
}

// Validate reports every fault at once, each with its path and the mend.
func (c Config) Validate() error {
	var faults []string
	fault := func(path, format string, args ...any) {
		faults = append(faults, path+": "+fmt.Sprintf(format, args...))
	}
	if err := checkpoint.Namespace(c.Namespace).Check(); err != nil {
		fault("namespace", "%v", err)
	}
	if err := checkpoint.NodeID(c.NodeID).Check(); err != nil {
		fault("nodeId", "%v", err)
	}
	if c.Data == "" {
		fault("data", "name a folder for the local state")
	}
	faults = append(faults, c.Kafka.Faults()...)
	faults = append(faults, c.Registry.Faults()...)
	if c.Store.Folder == "" && c.Store.S3.Bucket == "" {
		fault("store", "name a folder or an s3.bucket for the checkpoints")
	}
	if s := c.Store.S3; s.Bucket != "" && (s.AccessKey == "") != (s.SecretKey == "") {
		fault("store.s3", "give both accessKey and secretKey, or none for the machine's own (environment, profile, role)")
	}
	if c.Store.S3.Bucket == "" && (c.Store.S3.Endpoint != "" || c.Store.S3.Prefix != "") {
		fault("store.s3.bucket", "is empty although other s3 settings are given")
	}
	if i := c.Checkpoint.Interval; i < 100*time.Millisecond || i > 5*time.Minute {
		fault("checkpoint.interval", "%s: use 100ms to 5m; bills wait for a checkpoint", i)
	}
	if c.Checkpoint.Deadline < time.Second {
		fault("checkpoint.deadline", "%s: use at least 1s", c.Checkpoint.Deadline)
	}
	if c.Checkpoint.Retain < 2 {
		fault("checkpoint.retain", "%d: keep at least 2", c.Checkpoint.Retain)
	}
	if c.Checkpoint.MaxPending < 1 {
		fault("checkpoint.maxPending", "%d: use at least 1", c.Checkpoint.MaxPending)
	}
	if c.Meter.MaxSpeedKmh < 0 {
		fault("meter.maxSpeedKmh", "%g: use 0 for no filter or a speed in km/h", c.Meter.MaxSpeedKmh)
	}
	if c.Memory.ResidentTrips < 1 {
		fault("memory.residentTrips", "%d: use at least 1", c.Memory.ResidentTrips)
	}
	if c.Memory.IdleSeals < 1 {
		fault("memory.idleSeals", "%d: use at least 1", c.Memory.IdleSeals)
	}
	if c.Memory.CacheMB < 8 {
		fault("memory.cacheMB", "%d: use at least 8", c.Memory.CacheMB)
	}
	faults = append(faults, c.Admin.faults()...)
	faults = append(faults, c.Lake.Validate()...)
	if strings.HasPrefix(c.Lake.Catalog, "sqlite:") && c.Cluster.Listen != "" {
		fault("lake.catalog", "a file serves one node alone: give the cluster a postgres:// or REST catalog")
	}
	faults = append(faults, c.Alerts.Faults("alerts")...)
	if strings.HasPrefix(c.Analytics.URL, "sqlite:") && c.Cluster.Listen != "" {
		fault("analytics.url", "an embedded file serves one node alone: give the cluster a postgres:// or clickhouse:// database")
	}
	if k := c.Cluster; k.Listen != "" {
		for path, addr := range map[string]string{"cluster.listen": k.Listen, "cluster.remote": k.Remote} {
			if _, _, err := net.SplitHostPort(addr); err != nil {
				fault(path, "%q is not host:port", addr)
			}
		}
		if len(k.Seeds) == 0 && !k.Bootstrap {
			fault("cluster.seeds", "name at least one other node, or set cluster.bootstrap on the first node")
		}
		if t := k.TLS; (t.Cert == "" || t.Key == "" || t.CA == "") && t != (TLS{}) {
			fault("cluster.tls", "give cert, key and ca, or none of them")
		}
		if k.Weight < 1 {
			fault("cluster.weight", "%d: use at least 1", k.Weight)
		}
		if p := checkpoint.Protocol(k.Protocol); p != 0 && (p < checkpoint.OldestProtocol || p > checkpoint.NewestProtocol) {
			fault("cluster.protocol", "%d: this version speaks %d to %d; use 0 for the highest that all nodes speak", k.Protocol, checkpoint.OldestProtocol, checkpoint.NewestProtocol)
		}
		if k.Standbys < 0 {
			fault("cluster.standbys", "%d: use 0 for none", k.Standbys)
		}
		if k.StandbyMaxMB < 0 {
			fault("cluster.standbyMaxMB", "%d: use 0 for no copies at all", k.StandbyMaxMB)
		}
		if k.KeysFile != "" && len(k.Keys) > 0 {
			fault("cluster.keysFile", "give keys or a file of keys, not both")
		}
		if _, err := decodeKeys(k.Keys); err != nil {
			fault("cluster.keys", "%v", err)
		}
	}
	if len(faults) > 0 {
		return fmt.Errorf("configuration:\n  %s", strings.Join(faults, "\n  "))
	}
	return nil
}

// TLS names PEM files: all three or none.
type TLS struct {
	Cert string `yaml:"cert" env:"CERT"`
	Key  string `yaml:"key" env:"KEY"`
	CA   string `yaml:"ca" env:"CA"`
}

// speaks is the protocols that the node takes part in.
func (c Cluster) speaks() cluster.Protocols {
	if c.Protocol > 0 {
		return cluster.Protocols{Min: checkpoint.OldestProtocol, Max: checkpoint.Protocol(c.Protocol)}
	}
	return cluster.Protocols{Min: checkpoint.OldestProtocol, Max: checkpoint.NewestProtocol}
}
