package ingest

import (
	"context"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
)

// AppendTimes says which record timestamps are the broker's append time.
type AppendTimes uint8

const (
	// AppendTimesFromBroker takes only timestamps that the broker marked LogAppendTime.
	AppendTimesFromBroker AppendTimes = iota
	// AppendTimesFromRecords takes any: for the embedded broker and replays of event files.
	AppendTimesFromRecords
)

// Decoder turns record values into events: a *codec.Decoder. All its methods run at once.
type Decoder interface {
	// Knows reports whether values of this id can be decoded, or are known to be unfit. An id stays known.
	Knows(topic schemas.Topic, id int) bool
	// Decode fills ev with a value of an id that is known. An error, also that the schema learned does
	// not fit, is the record's fault.
	Decode(topic schemas.Topic, value []byte, ev *schemas.Event) error
	// Learn makes a writer schema known, or known as unfit.
	Learn(topic schemas.Topic, id int, writerSchema string, references ...string) error
}

// Registry finds writer schemas: a *registry.Client. An error that registry.Unavailable
// confirms leads to asking again, any other makes dead letters of the id's records.
type Registry interface {
	SchemaByID(ctx context.Context, id int) (string, error)
}

// Options of a Source. Client, Namespace, Decoder, Registry and OnFault are required.
type Options struct {
	Client    []kgo.Opt // how to reach the brokers: seeds, TLS, SASL, dialer, logger
	Namespace string    // whose bills are our own
	Decoder   Decoder
	Registry  Registry

	// OnFault hears, from the Source's goroutine, why a topic-partition stopped or
	// stumbled: *OutOfRangeError, *TopicRecreatedError, *FetchError. It must not block
	// nor call the Source.
	OnFault func(error)

	// OnWait hears, from the Source's goroutine, once per fetch and topic-partition that
	// brought records: how long the first of them could have been read and was not. That is
	// since its append time by the broker's clock, or since the broker answered the fetch before
	// if that was later. Fetches that follow an addition, or a pause because owners were slow, are left
	// out. It must not block. nil = nobody hears.
	OnWait func(time.Duration)

	AppendTimes AppendTimes

	// BatchRecords is the most records of a batch (default 1024, two batches per partition).
	BatchRecords int
	// ReadAhead is about how many fetched records wait in memory, all partitions together
	// (default 65536, of 1 KB each): a lane's fetching pauses at its share, half a batch at
	// least. More smooths stuttering owners; all of it is live heap, which makes the garbage
	// collector let the heap grow by twice as much again.
	ReadAhead int
	// ProbeEvery is how often the log ends are asked for (default 2 s): how fresh
	// "caught up" is on a silent topic.
	ProbeEvery time.Duration
}

const (
	defaultBatchRecords = 1024
	defaultReadAhead    = 64 << 10
	defaultProbeEvery   = 2 * time.Second

	// fetchMaxWait bounds how long an added or resumed partition waits for a fetch that
	// is already under way to end. While catching up lanes pause and resume all the time:
	// four partitions on three brokers gave 66,000 records/s with 500 ms, 300,000 with this.
	fetchMaxWait = 100 * time.Millisecond
	// fetchMinBytes makes a broker answer when it has so much, or after fetchMaxWait: each answer
	// costs a message per partition, and at some thousand events a second every one would be
	// answered by itself. A partition alone must be able to fill it (fetchMaxPartitionBytes, which a broker may
	// fill with whole batches only): else each fetch waits while that one catches up.
	fetchMinBytes = 128 << 10
	// quickMaxWait is how long a fetch may be under way when one partition more is added.
	quickMaxWait = 10 * time.Millisecond
	// maxLaneRecords is enough for any lane.
	maxLaneRecords = 4096

	// fetchMaxBytes and fetchMaxPartitionBytes bound one fetch, as compressed.
	fetchMaxBytes          = 16 << 20
	fetchMaxPartitionBytes = 256 << 10
	// maxDecompressed stops a compression bomb.
	maxDecompressed = 64 << 20
	// pollRecords bounds what one poll adds to the lanes.
	pollRecords = 16384
)

func (o Options) withDefaults() Options {
	if o.BatchRecords == 0 {
		o.BatchRecords = defaultBatchRecords
	}
	if o.ReadAhead == 0 {
		o.ReadAhead = defaultReadAhead
	}
	if o.ProbeEvery == 0 {
		o.ProbeEvery = defaultProbeEvery
	}
	if o.OnWait == nil {
		o.OnWait = func(time.Duration) {}
	}
	return o
}

// clients make consumers without a group: assignment and offsets are the caller's. quick is for
// partitions that were just added.
func (o Options) clients(a *answers) (usual, quick *kgo.Client, err error) {
	lent := newBuffers()
	unpack, err := newDecompressor(lent)
	if err != nil {
		return nil, nil, err
	}
	common := append([]kgo.Opt{
		kgo.DisableClientMetrics(), // a push at every close
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), // their offsets are counted
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchMaxBytes(fetchMaxBytes),
		kgo.FetchMaxPartitionBytes(fetchMaxPartitionBytes),
		kgo.WithDecompressor(unpack),
		kgo.WithPools(lent),
		kgo.WithHooks(lent), // how much batches expand
	}, o.Client...)
	if usual, err = kgo.NewClient(append(slices.Clip(common), kgo.FetchMaxWait(fetchMaxWait), kgo.FetchMinBytes(fetchMinBytes),
		kgo.WithHooks(a))...); err != nil { // when fetches are answered
		return nil, nil, err
	}
	if quick, err = kgo.NewClient(append(slices.Clip(common), kgo.FetchMaxWait(quickMaxWait), kgo.FetchMinBytes(1))...); err != nil {
		usual.Close()
		return nil, nil, err
	}
	return usual, quick, nil
}
