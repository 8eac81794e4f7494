package ingest

import (
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// answers knows, of the records that a lane will be given next, since when they could have been
// read: since the fetch before the one that brought them was answered by the same broker. It
// hears of every answer, also of one that brings nothing, and of every batch.
type answers struct {
	mu      sync.Mutex // guards all below; taken per batch, not per record
	brokers map[int32]answered
	since   map[laneKey]time.Time // of lanes for which batches lie in the client
}

type (
	answered struct{ last, before time.Time }
	laneKey  struct {
		topic     string
		partition int32
	}
)

func newAnswers() *answers {
	return &answers{brokers: make(map[int32]answered), since: make(map[laneKey]time.Time)}
}

func (l *lane) key() laneKey { return laneKey{l.topic.String(), int32(l.partition)} }

func (a *answers) OnBrokerRead(b kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	if kmsg.Key(key) == kmsg.Fetch && err == nil {
		a.answer(b.NodeID, time.Now())
	}
}

func (a *answers) answer(broker int32, now time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.brokers[broker] = answered{last: now, before: a.brokers[broker].last}
}

func (a *answers) OnFetchBatchRead(b kgo.BrokerMetadata, topic string, partition int32, _ kgo.FetchBatchMetrics) {
	a.brought(b.NodeID, laneKey{topic, partition})
}

// brought keeps the earliest: what the client throws away it fetches again.
func (a *answers) brought(broker int32, k laneKey) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, known := a.since[k]; !known {
		a.since[k] = a.brokers[broker].before
	}
}

// forget is for a lane that was not to be read for a while.
func (a *answers) forget(l *lane) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.since, l.key())
	l.steady = false
}

// waited is for how long the first of the records that the lane is being given could have been
// read. It is not known after a gap that was meant.
func (a *answers) waited(l *lane, records []*kgo.Record, now time.Time) (wait time.Duration, known bool) {
	if len(records) == 0 {
		return 0, false
	}
	a.mu.Lock()
	since := a.since[l.key()]
	delete(a.since, l.key())
	a.mu.Unlock()
	known = l.steady && !since.IsZero()
	l.steady = true
	if appended := records[0].Timestamp; appended.After(since) {
		since = appended
	}
	return max(0, now.Sub(since)), known
}
