package kafkaout

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// place is one partition that is written to.
type place struct {
	topic     string
	partition int32
}

func (p place) String() string { return fmt.Sprintf("%s/%d", p.topic, p.partition) }

// errSilent is a place that nobody answers for: it has no leader, or that is out of reach.
var errSilent = errors.New("no answer")

// unended are the places where a transaction of a sender, or of earlier holders of its id, may still be
// open, and why it is not known to have ended; nil = nobody has asked yet.
type unended map[place]error

// silent are the places that nobody has answered for.
func (u unended) silent() []place {
	return u.those(func(_ place, why error) bool { return errors.Is(why, errSilent) })
}

// due are the places that a transaction must know of that writes to some: these, and all that answer.
func (u unended) due(written []place) []place {
	return u.those(func(at place, why error) bool { return slices.Contains(written, at) || !errors.Is(why, errSilent) })
}

func (u unended) those(is func(place, error) bool) (some []place) {
	for at, why := range u {
		if is(at, why) {
			some = append(some, at)
		}
	}
	return some
}

// why is what is known of some places, in one line.
func (u unended) why(some []place) (why error) {
	for _, at := range some {
		known := fmt.Errorf("%s: %w", at, cmp.Or(u[at], errSilent))
		if why != nil {
			known = fmt.Errorf("%w; %w", why, known)
		}
		why = known
	}
	return why
}

// places are where records go to.
func places(records []*kgo.Record) []place {
	var all []place
	for _, r := range records {
		if at := (place{r.Topic, r.Partition}); !slices.Contains(all, at) {
			all = append(all, at)
		}
	}
	return all
}

// askPatience bounds one question.
const askPatience = 5 * time.Second

// ask tells which transactions of f's id are open at some of the places in f.unended, and lets go of those
// where none is. A place that nobody answers for stays. Who is refused for good believes what brokers promise.
func (k *Kafka) ask(ctx context.Context, f *fenced, about []place) (open []kadm.DescribedProducer) {
	if _, unknown := k.refused.Load(allTopics); unknown {
		clear(f.unended)
		return nil
	}
	if len(about) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	answered := func(at place, err error) {
		switch {
		case err == nil:
			delete(f.unended, at)
		case errors.Is(err, kerr.UnsupportedVersion):
			delete(f.unended, at)
			k.mayNotAsk(allTopics, err)
		case refusedForGood(err):
			delete(f.unended, at)
			k.mayNotAsk(at.topic, err)
		case f.unended[at] != nil && ctx.Err() != nil: // an answer before says more than a question cut short
		default:
			f.unended[at] = fmt.Errorf("%w: %w", errSilent, err)
		}
	}
	for _, shard := range k.client.RequestSharded(ctx, question(about)) {
		if shard.Err != nil {
			why := errors.New(shard.Err.Error()) // no answer, whatever its code
			if !k.takesQuestions(ctx, shard.Meta.NodeID) {
				why = kerr.UnsupportedVersion
			}
			for _, topic := range shard.Req.(*kmsg.DescribeProducersRequest).Topics {
				for _, p := range topic.Partitions {
					answered(place{topic.Topic, p}, why)
				}
			}
			continue
		}
		for _, topic := range shard.Resp.(*kmsg.DescribeProducersResponse).Topics {
			for _, p := range topic.Partitions {
				at := place{topic.Topic, p.Partition}
				answered(at, kerr.ErrorForCode(p.ErrorCode))
				for _, d := range openIn(at, p) {
					switch {
					case f.isOurs(d):
						f.unended[at] = fmt.Errorf("still open since offset %d", d.CurrentTxnStartOffset)
						open = append(open, d)
					case f.mayBeFormer(d, k.patience):
						f.strays = append(f.strays, d)
					}
				}
			}
		}
	}
	return open
}

func question(about []place) *kmsg.DescribeProducersRequest {
	var topics kadm.TopicsSet
	for _, at := range about {
		topics.Add(at.topic, at.partition)
	}
	request := kmsg.NewPtrDescribeProducersRequest()
	for _, t := range topics.IntoList() {
		request.Topics = append(request.Topics, kmsg.DescribeProducersRequestTopic{Topic: t.Topic, Partitions: t.Partitions})
	}
	return request
}

// openIn are the transactions that are open in a partition.
func openIn(at place, p kmsg.DescribeProducersResponseTopicPartition) (open []kadm.DescribedProducer) {
	for _, a := range p.ActiveProducers {
		if a.CurrentTxnStartOffset >= 0 {
			open = append(open, kadm.DescribedProducer{Topic: at.topic, Partition: at.partition, ProducerID: a.ProducerID, ProducerEpoch: int16(a.ProducerEpoch),
				LastTimestamp: a.LastTimestamp, CoordinatorEpoch: a.CoordinatorEpoch, CurrentTxnStartOffset: a.CurrentTxnStartOffset})
		}
	}
	return open
}

// allTopics stands for them where brokers do not know the question.
const allTopics = "all"

// mayNotAsk tells once of each topic.
func (k *Kafka) mayNotAsk(topic string, why error) {
	if _, told := k.refused.LoadOrStore(topic, true); !told && k.o.OnRefused != nil {
		k.o.OnRefused(topic, why)
	}
}

// refusedForGood reports whether an answer about a place says that there will never be another.
func refusedForGood(err error) bool {
	return errors.Is(err, kerr.TopicAuthorizationFailed) || errors.Is(err, kerr.InvalidRequest)
}

// permanent reports whether a broker has refused for good: asking again brings the same.
func permanent(err error) bool {
	refused, ok := errors.AsType[*kerr.Error](err)
	return ok && !refused.Retriable
}

// takesQuestions reports whether a broker knows the question, as brokers do from 2.8 on, unless a proxy stands for
// them; yes when it does not say. The client keeps a question that a broker does not know to itself, with an error of its own.
func (k *Kafka) takesQuestions(ctx context.Context, broker int32) bool {
	request := kmsg.NewPtrApiVersionsRequest()
	request.ClientSoftwareName, request.ClientSoftwareVersion = "taximeter", "1" // brokers want some
	response, err := request.RequestWith(ctx, k.client.Broker(int(broker)))
	return err != nil || response.ErrorCode != 0 || slices.ContainsFunc(response.ApiKeys, func(known kmsg.ApiVersionsResponseApiKey) bool {
		return known.ApiKey == int16(kmsg.DescribeProducers)
	})
}

// partitions are how many a topic has.
func (k *Kafka) partitions(ctx context.Context, topic string) (int32, error) {
	topics, err := k.admin.ListTopicsWithInternal(ctx, topic)
	if err == nil {
		err = topics[topic].Err
	}
	n := len(topics[topic].Partitions)
	if err == nil && n == 0 {
		err = errors.New("there are none")
	}
	if err != nil {
		return 0, fmt.Errorf("find the partitions of %s: %w", topic, err)
	}
	return int32(n), nil
}
