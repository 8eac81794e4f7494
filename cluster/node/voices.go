package node

import (
	"context"
	"fmt"

	"taximeter/internal/access"
	"taximeter/schemas"
	"taximeter/schemas/avro"
	"taximeter/sinks/kafkaout"
)

// openVoices registers the contracts that we write and makes the output side ready.
func (n *Node) openVoices(ctx context.Context) (err error) {
	ids := kafkaout.SchemaIDs{}
	for topic, id := range map[string]*int{schemas.TopicPayments: &ids.Payment, schemas.TopicWindows: &ids.Window, schemas.TopicAlerts: &ids.Alert} {
		c, ok := avro.Of(topic)
		if !ok {
			return fmt.Errorf("topic %s has no contract", topic)
		}
		if *id, err = n.registry.Register(ctx, c.Subject(), c.Schema); err != nil {
			if mend := n.cfg.Registry.Mend(err); mend != "" {
				err = fmt.Errorf("%w; %s", err, mend)
			}
			return fmt.Errorf("schema registry %s: %w", access.Redacted(n.cfg.Registry.URL), err)
		}
	}
	n.voices, err = kafkaout.New(kafkaout.Options{Client: append(n.cfg.Kafka.Options(), n.o.Output...), Namespace: n.cfg.Namespace, Schemas: ids, OnEnded: n.endedFor, OnRefused: n.refusedFor})
	return err
}

// endedFor hears of a transaction that was ended in Kafka's place.
func (n *Node) endedFor(e kafkaout.Ended) {
	n.log.Warn("Kafka did not end a transaction; it was ended here as its coordinator had decided", "transaction", e)
}

// refusedFor hears of a topic about whose open transactions brokers do not tell.
func (n *Node) refusedFor(topic string, why error) {
	n.log.Warn("brokers do not tell this node which of its transactions are open; one that Kafka does not end will not be found", "topic", topic, "err", why,
		"mend", "give Read on the topic; or brokers from 2.8 on, without a proxy that hides DescribeProducers, and a restart")
}
