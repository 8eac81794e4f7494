package schemas

import (
	"testing"

	"github.com/twmb/franz-go/pkg/kgo"
	"pgregory.net/rapid"
)

// The producer of the same records is a Kafka client: it must agree with us.
func TestPartitionOfIsKafkasDefault(t *testing.T) {
	kafka := kgo.StickyKeyPartitioner(nil).ForTopic(TopicTelemetry)
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "key")
		n := rapid.IntRange(1, 1000).Draw(t, "partitions")
		if key == nil {
			key = []byte{} // nil is no key
		}
		want := kafka.Partition(&kgo.Record{Key: key}, n)
		if got := PartitionOf(key, n); int(got) != want {
			t.Fatalf("key %x of %d partitions: %d, Kafka says %d", key, n, got, want)
		}
	})
}

// Values of org.apache.kafka.common.utils.UtilsTest.
func TestMurmur2IsKafkas(t *testing.T) {
	for key, want := range map[string]int32{
		"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536,
		"a-little-bit-longer-string": -1486304829, "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971, "abc": 479470107,
	} {
		if got := int32(murmur2([]byte(key))); got != want {
			t.Errorf("murmur2(%q) = %d, want %d", key, got, want)
		}
	}
}
