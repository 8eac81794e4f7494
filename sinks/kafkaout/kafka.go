package kafkaout

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
)

// SchemaIDs are the registry's ids of the contracts that are written.
type SchemaIDs struct {
	Payment int // EventoPagamento, in which bills go out
	Window  int // AgregadoJanela
	Alert   int // Alerta
}

// Options of the output. Client, Namespace and Schemas are required.
type Options struct {
	Client    []kgo.Opt // how to reach the brokers: seeds, TLS, SASL, dialer, logger
	Namespace string    // in transactional ids, markers and headers
	Schemas   SchemaIDs

	// PublishTimeout bounds one outbox (default 20 s). While it is open, its transaction
	// hides all later records of the partition from readers.
	PublishTimeout time.Duration
	// AlertTimeout bounds one transaction of alerts (default 5 s).
	AlertTimeout time.Duration
	// OnEnded hears of each transaction that Kafka had left open and that was ended here; nil = nobody does.
	OnEnded func(Ended)
	// OnRefused hears once of each topic about whose open transactions brokers do not tell, or of "all", and why; nil =
	// nobody does. What Kafka does not end there is not found.
	OnRefused func(topic string, why error)
}

const (
	defaultPublishTimeout = 20 * time.Second
	defaultAlertTimeout   = 5 * time.Second
	// brokerGrace is what the broker waits longer than we do before it aborts.
	brokerGrace = 2 * time.Second
	// readTimeout bounds reading a marker partition back. Another namespace's open
	// transaction may hold it up.
	readTimeout = 30 * time.Second
	// metadataAge is for how long a client believes who leads a partition, though that one does not answer. The library's
	// 5 s are as long as alerts may take, and followers answer questions too.
	metadataAge = 250 * time.Millisecond
)

// Kafka is the output side of one node.
type Kafka struct {
	o      Options
	client *kgo.Client // for questions; never produces
	admin  *kadm.Client
	// courtesy has connections of its own: a broker answers one after the other, and may take seconds to commit an offset or
	// to write a marker.
	courtesy *kadm.Client
	prepared prepared
	ended    atomic.Int64

	patience time.Duration // with the end of the transaction before
	ending   time.Duration // may take: reading a decision and writing its marker
	refused  sync.Map      // topics that OnRefused has heard of
	verdicts verdicts
}

// New does not connect.
func New(o Options) (*Kafka, error) {
	if o.PublishTimeout == 0 {
		o.PublishTimeout = defaultPublishTimeout
	}
	if o.AlertTimeout == 0 {
		o.AlertTimeout = defaultAlertTimeout
	}
	client, err := kgo.NewClient(o.clientOpts()...)
	if err != nil {
		return nil, fmt.Errorf("kafka output: %w", err)
	}
	courtesy, err := kgo.NewClient(o.clientOpts()...)
	if err != nil {
		client.Close()
		return nil, fmt.Errorf("kafka output: %w", err)
	}
	return &Kafka{o: o, client: client, admin: kadm.NewClient(client), courtesy: kadm.NewClient(courtesy), patience: endPatience, ending: readTimeout}, nil
}

// Close ends the node's own connections; what Open returned is closed by its holder.
func (k *Kafka) Close() {
	k.prepared.letGo(time.Now())
	k.client.Close()
	k.courtesy.Close()
}

func (o Options) clientOpts(more ...kgo.Opt) []kgo.Opt {
	return slices.Concat([]kgo.Opt{kgo.DisableClientMetrics(), kgo.MetadataMinAge(metadataAge)}, o.Client, more)
}

// CommitOffsets writes consumer group offsets for the eyes of lag tools. Nothing reads
// them back: an error is worth a warning and no more.
func (k *Kafka) CommitOffsets(ctx context.Context, group string, p schemas.Partition, next [schemas.NumInputs]schemas.Offset) error {
	offsets := kadm.Offsets{}
	for topic, at := range next {
		offsets.Add(kadm.Offset{Topic: schemas.Topic(topic).String(), Partition: int32(p), At: int64(at), LeaderEpoch: -1})
	}
	if err := k.courtesy.CommitAllOffsets(ctx, group, offsets); err != nil {
		return fmt.Errorf("show offsets of partition %d as group %s: %w", p, group, err)
	}
	return nil
}
