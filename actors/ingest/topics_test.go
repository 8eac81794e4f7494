package ingest

import (
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"taximeter/schemas"
)

func TestASilentTopicIsKnownToBeReadToItsEnd(t *testing.T) {
	w := newWorld(t, nil)
	w.produce(w.client, record(schemas.Rides, 0, "a"))
	w.add(0, [schemas.NumInputs]schemas.Offset{})
	w.until(0, func(s [schemas.NumInputs]LaneStatus) bool {
		return s[0].CaughtUp(0, time.Now(), 10*time.Second) && s[1].CaughtUp(1, time.Now(), 10*time.Second) && !s[1].CaughtUp(0, time.Now(), 10*time.Second)
	})
	w.cluster.Close() // an unreachable broker proves nothing
	w.until(0, func(s [schemas.NumInputs]LaneStatus) bool {
		return !s[0].CaughtUp(0, time.Now(), 100*time.Millisecond)
	})
}

// A fetch may have lain in the client for long: only an answer to a question says when.
func TestAFetchDoesNotMakeAnEndFresh(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.ProbeEvery = time.Hour })
	inbox := w.add(0, [schemas.NumInputs]schemas.Offset{})
	var checked time.Time
	w.until(0, func(s [schemas.NumInputs]LaneStatus) bool { checked = s[1].CheckedAt; return s[1].End == 0 })
	w.produce(w.client, record(schemas.Rides, 0, "a"))
	w.next(inbox)
	w.until(0, func(s [schemas.NumInputs]LaneStatus) bool { return s[1].End == 1 && s[1].CheckedAt.Equal(checked) })
}

// What a good broker says counts though another is mute, and before it grows old.
func TestAMuteBrokerLeavesTheOthersKnown(t *testing.T) {
	w := newWorld(t, nil)
	node, _, err := w.cluster.AddNode(-1, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range inputNames {
		for p := range int32(4) {
			leader := node
			if topic != schemas.TopicRides || p != 0 {
				leader = 0
			}
			if err := w.cluster.MoveTopicPartition(topic, p, leader); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.cluster.ControlKey(int16(kmsg.ListOffsets), func(kmsg.Request) (kmsg.Response, error, bool) {
		w.cluster.KeepControl()
		return nil, nil, w.cluster.CurrentNode() == node
	})
	w.add(0, [schemas.NumInputs]schemas.Offset{})
	w.until(0, func(s [schemas.NumInputs]LaneStatus) bool { return s[0].CaughtUp(0, time.Now(), 5*time.Second) })
	w.until(0, func(s [schemas.NumInputs]LaneStatus) bool {
		return s[0].CaughtUp(0, time.Now(), 5*time.Second) && s[1].CheckedAt.IsZero()
	})
}

func TestStartOffsets(t *testing.T) {
	w := newWorld(t, nil)
	w.produce(w.client, record(schemas.Rides, 3, name(0)))
	starts, err := w.source.StartOffsets(w.ctx())
	if err != nil || len(starts) != 4 || starts[3] != [schemas.NumInputs]schemas.Offset{} {
		t.Errorf("starts: %v, %v", starts, err)
	}
}

func TestTopicsAreChecked(t *testing.T) {
	logAppend := map[string]*string{"message.timestamp.type": kadm.StringPtr("LogAppendTime")}
	for _, c := range []struct {
		name       string
		partitions [schemas.NumInputs]int32 // 0 = absent
		configs    map[string]*string
		want       []string
	}{
		{"right", [3]int32{4, 4, 4}, logAppend, nil},
		{"unequal", [3]int32{4, 4, 5}, logAppend, []string{"pagamentos.eventos has 5 partitions and corridas.telemetria has 4"}},
		{"absent", [3]int32{4, 0, 0}, logAppend, []string{"topic corridas.eventos cannot be read: create it", "topic pagamentos.eventos cannot be read"}},
		{"clock", [3]int32{2, 2, 2}, nil, []string{"corridas.telemetria has message.timestamp.type=CreateTime", "set it to LogAppendTime"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			cluster, err := kfake.NewCluster(kfake.NumBrokers(1))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(cluster.Close)
			s, err := New(Options{Client: []kgo.Opt{kgo.SeedBrokers(cluster.ListenAddrs()...)}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(s.Close)
			for i, n := range c.partitions {
				if n == 0 {
					continue
				}
				if _, err := s.admin.CreateTopic(t.Context(), n, 1, c.configs, inputNames[i]); err != nil {
					t.Fatal(err)
				}
			}
			top, err := s.CheckTopics(t.Context())
			if c.want == nil && (err != nil || top.Partitions != 4 || top.IDs[0] == top.IDs[1]) {
				t.Errorf("%+v, %v", top, err)
			}
			for _, want := range c.want {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("error %v lacks %q", err, want)
				}
			}
		})
	}
}

func TestChangedTopicsAreTold(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*world) error
		want   string
	}{
		{"grown", func(w *world) error {
			_, err := w.admin().CreatePartitions(w.ctx(), 2, inputNames...)
			return err
		}, "the input topics have 6 partitions now and had 4"},
		{"one grown", func(w *world) error {
			_, err := w.admin().CreatePartitions(w.ctx(), 2, schemas.TopicRides)
			return err
		}, "corridas.eventos has 6 partitions and corridas.telemetria has 4"},
		{"created again", func(w *world) error {
			if _, err := w.admin().DeleteTopics(w.ctx(), schemas.TopicPayments); err != nil {
				return err
			}
			_, err := w.admin().CreateTopics(w.ctx(), 4, 1, nil, schemas.TopicPayments)
			return err
		}, "topic pagamentos.eventos was deleted and created again"},
		{"deleted", func(w *world) error {
			_, err := w.admin().DeleteTopics(w.ctx(), schemas.TopicPayments)
			return err
		}, "topic pagamentos.eventos cannot be read"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(o *Options) { o.Client = append(o.Client, kgo.MetadataMinAge(20*time.Millisecond)) })
			known, err := w.source.CheckTopics(w.ctx())
			if err != nil {
				t.Fatal(err)
			}
			told := make(chan error, 1)
			checks := w.cluster.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Observe: true, Count: -1})
			if err := w.source.Watch(20*time.Millisecond, known, func(err error) {
				select {
				case told <- err:
				default:
				}
			}); err != nil {
				t.Fatal(err)
			}
			if err := checks.Wait(w.ctx(), 1); err != nil {
				t.Fatal(err)
			}
			select {
			case err := <-told:
				t.Fatalf("told without a change: %v", err)
			default:
			}
			if err := c.change(w); err != nil {
				t.Fatal(err)
			}
			for end := time.After(deadline); ; {
				select {
				case err := <-told:
					if strings.Contains(err.Error(), c.want) {
						return
					}
					t.Log(err) // on the way
				case <-end:
					t.Fatalf("%q was not told", c.want)
				}
			}
		})
	}
}
