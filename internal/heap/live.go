package heap

import "runtime/metrics"

// Live is what lived on the heap at the newest collection, and the bound that Tune or the
// environment has set, in bytes.
func Live() (live, limit uint64) {
	s := []metrics.Sample{{Name: "/gc/heap/live:bytes"}, {Name: "/gc/gomemlimit:bytes"}}
	metrics.Read(s)
	return s[0].Value.Uint64(), s[1].Value.Uint64()
}
