package trip

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// A set of fingerprints has what was put in and nothing else, whatever its size.
func TestFingerprintsAreASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		one := rapid.Custom(func(t *rapid.T) fingerprint {
			v := fingerprint(rapid.Uint32Range(0, 1<<fingerprintBits-1).Draw(t, "v"))
			if rapid.Bool().Draw(t, "crowded") {
				v &= 0xff // many in one bucket, some of them twice
			}
			return v
		})
		in := rapid.SliceOfN(one, 0, 700).Draw(t, "in")
		f := newFingerprints(slices.Clone(in))
		for _, v := range in {
			if !f.has(v) {
				t.Fatalf("%06x is in the set of %d and is not found", v, len(in))
			}
		}
		for _, v := range rapid.SliceOfN(one, 0, 50).Draw(t, "others") {
			if f.has(v) != slices.Contains(in, v) {
				t.Fatalf("%06x: found = %v in a set of %d", v, f.has(v), len(in))
			}
		}
		slices.Sort(in)
		if got := f.appendTo(nil); !slices.Equal(got, in) {
			t.Fatalf("holds %x, want %x", got, in)
		}
	})
}

func TestFingerprintsTakeTwentyBitsEach(t *testing.T) {
	var in []fingerprint
	for i := range fingerprint(120) {
		in = append(in, i*0x9e3779b1>>(32-fingerprintBits))
	}
	if f := newFingerprints(in); len(f.bits)*8 > 300 {
		t.Errorf("120 fingerprints take %d bytes", len(f.bits)*8)
	}
}
