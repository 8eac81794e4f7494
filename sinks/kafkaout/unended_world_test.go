package kafkaout

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"taximeter/schemas"
)

const (
	partitionsOfStates = 5
	alertsOf3          = "taximeter-ns-alerts-3"
)

// leftOpen makes a broker that has given the transactional id of the alerts away again, though a transaction
// of its former holder is open, and says whose it is.
func leftOpen(t *testing.T, w *world) (producer int64, epoch int16) {
	t.Helper()
	producer, epoch = former(t, w)
	w.gives(producer, epoch+2)
	return producer, epoch
}

// former is a producer whose open transaction in the marker log holds back an alert "before".
func former(t *testing.T, w *world) (producer int64, epoch int16) {
	t.Helper()
	former, err := kgo.NewClient(kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.TransactionalID("former"), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(former.Close)
	if producer, epoch, err = former.ProducerID(w.ctx()); err != nil {
		t.Fatal(err)
	}
	if err := former.BeginTransaction(); err != nil {
		t.Fatal(err)
	}
	value, facts, err := sentRecord([]schemas.Alert{{AlertID: "before", RuleID: "r", TripID: "t"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := former.ProduceSync(w.ctx(), &kgo.Record{Topic: schemas.TopicAlertIDs, Partition: int32(ours3), Key: []byte("ns"), Value: value,
		Headers: []kgo.RecordHeader{facts}}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	return producer, epoch
}

// gives lets the broker give the transactional id of the alerts a producer.
func (w *world) gives(producer int64, epoch int16) {
	w.cluster.ControlKey(int16(kmsg.InitProducerID), func(r kmsg.Request) (kmsg.Response, error, bool) {
		w.cluster.KeepControl()
		request := r.(*kmsg.InitProducerIDRequest)
		if request.TransactionalID == nil || *request.TransactionalID != alertsOf3 {
			return nil, nil, false
		}
		response := request.ResponseKind().(*kmsg.InitProducerIDResponse)
		response.ProducerID, response.ProducerEpoch = producer, epoch
		return response, nil, true
	})
}

// state is one the coordinator logs.
func state(what kmsg.TransactionState, producer int64, epoch int16, in ...int32) kmsg.TxnMetadataValue {
	v := kmsg.NewTxnMetadataValue()
	v.Version, v.State, v.ProducerID, v.ProducerEpoch = 1, what, producer, epoch
	if len(in) > 0 {
		v.Topics = []kmsg.TxnMetadataValueTopic{{Topic: schemas.TopicAlertIDs, Partitions: in}, {Topic: schemas.TopicAlerts, Partitions: []int32{0}}}
	}
	return v
}

// logStates logs states of the alerts' transactional id, among another's.
func (w *world) logStates(states ...kmsg.TxnMetadataValue) {
	w.Helper()
	if _, err := w.kafka.admin.CreateTopics(w.ctx(), partitionsOfStates, 1, nil, coordinatorLog); err != nil {
		w.Fatal(err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(w.cluster.ListenAddrs()...), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		w.Fatal(err)
	}
	defer client.Close()
	for _, v := range states {
		other := kmsg.NewTxnMetadataValue()
		for id, v := range map[string]*kmsg.TxnMetadataValue{"another": &other, alertsOf3: &v} {
			key := kmsg.TxnMetadataKey{TransactionalID: id}
			r := &kgo.Record{Topic: coordinatorLog, Partition: coordinatorHash(alertsOf3) % partitionsOfStates, Key: key.AppendTo(nil), Value: v.AppendTo(nil)}
			if err := client.ProduceSync(w.ctx(), r).FirstErr(); err != nil {
				w.Fatal(err)
			}
		}
	}
}

// answering lets brokers answer the question who has transactions open in a place: with an error, or with a
// transaction of a producer.
func (w *world) answering(answer func(place) (fault *kerr.Error, producer int64, epoch int32)) {
	w.cluster.ControlKey(int16(kmsg.DescribeProducers), func(r kmsg.Request) (kmsg.Response, error, bool) {
		w.cluster.KeepControl()
		request := r.(*kmsg.DescribeProducersRequest)
		response := request.ResponseKind().(*kmsg.DescribeProducersResponse)
		for _, topic := range request.Topics {
			rt := kmsg.DescribeProducersResponseTopic{Topic: topic.Topic}
			for _, p := range topic.Partitions {
				rp := kmsg.DescribeProducersResponseTopicPartition{Partition: p}
				fault, producer, epoch := answer(place{topic.Topic, p})
				if fault != nil {
					rp.ErrorCode = fault.Code
				}
				if producer != 0 {
					rp.ActiveProducers = []kmsg.DescribeProducersResponseTopicPartitionActiveProducer{{ProducerID: producer, ProducerEpoch: epoch, CurrentTxnStartOffset: 0}}
				}
				rt.Partitions = append(rt.Partitions, rp)
			}
			response.Topics = append(response.Topics, rt)
		}
		return response, nil, true
	})
}

func alertOf(region string) schemas.Alert {
	return schemas.Alert{AlertID: "of " + region, RuleID: "r", TripID: "t", Region: region}
}
