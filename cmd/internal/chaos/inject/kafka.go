package inject

import (
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Kafka is what lets the plan see the output's connections.
func (a *Armed) Kafka() []kgo.Opt { return []kgo.Opt{kgo.WithHooks(wire{a})} }

// wire passes the points of what goes over a connection: a request is written, or its
// answer has come.
type wire struct{ armed *Armed }

func (w wire) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	if err != nil {
		return
	}
	switch kmsg.Key(key) {
	case kmsg.Produce:
		w.armed.pass(Sent)
	case kmsg.EndTxn:
		w.armed.pass(EndTxn)
	}
}

func (w wire) OnBrokerRead(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, err error) {
	if err != nil {
		return
	}
	switch kmsg.Key(key) {
	case kmsg.InitProducerID:
		w.armed.pass(Fenced)
	case kmsg.Produce:
		w.armed.pass(SentAfter)
	case kmsg.EndTxn:
		w.armed.pass(EndTxnAfter)
	case kmsg.Fetch:
		w.armed.pass(ReadBack)
	}
}
