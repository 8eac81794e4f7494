package chaos

import (
	"encoding/binary"
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// through makes the broker's answers send the client back to the same proxy: each node has
// a proxy of its own, and the broker knows of none.
func through(host string, port int32) func(key, version int16, answer []byte) []byte {
	return func(key, version int16, answer []byte) []byte {
		var r kmsg.Response
		switch kmsg.Key(key) {
		case kmsg.Metadata, kmsg.FindCoordinator, kmsg.DescribeCluster:
			r = kmsg.ResponseForKey(key)
		default:
			return answer
		}
		r.SetVersion(version)
		head := 8 // length and correlation id
		if r.IsFlexible() {
			head++ // no tags
		}
		if len(answer) < head || r.ReadFrom(answer[head:]) != nil {
			return answer
		}
		switch r := r.(type) {
		case *kmsg.MetadataResponse:
			for i := range r.Brokers {
				r.Brokers[i].Host, r.Brokers[i].Port = host, port
			}
		case *kmsg.FindCoordinatorResponse:
			r.Host, r.Port = host, port
			for i := range r.Coordinators {
				r.Coordinators[i].Host, r.Coordinators[i].Port = host, port
			}
		case *kmsg.DescribeClusterResponse:
			for i := range r.Brokers {
				r.Brokers[i].Host, r.Brokers[i].Port = host, port
			}
		}
		renamed := r.AppendTo(slices.Clone(answer[:head]))
		binary.BigEndian.PutUint32(renamed, uint32(len(renamed)-4))
		return renamed
	}
}
