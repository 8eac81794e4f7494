package trip

import (
	"math/bits"
	"slices"
)

// fingerprintBits tell 16.7 million ids apart. In a trip of 167 points one new event in
// 100,000 has the points read back for nothing.
const fingerprintBits = 24

// fingerprint is the first bits of an id's hash.
type fingerprint uint32

func fingerprintOf(entry []byte) fingerprint {
	return fingerprint(hash(entry) >> (64 - fingerprintBits))
}

// fingerprints is a set of them in the Elias-Fano form, 2.4 bytes each. They lie in about as
// many buckets as there are fingerprints, by their first bits; the marks tell how many each
// bucket has (a one for each and a zero behind), and the rests follow, all of them, ascending.
type fingerprints struct {
	bits  []uint64
	count int32
}

// newFingerprints takes them in any order and leaves them sorted.
func newFingerprints(all []fingerprint) fingerprints {
	slices.Sort(all)
	f := fingerprints{count: int32(len(all))}
	rest := f.rest()
	f.bits = make([]uint64, (f.marks()+len(all)*rest+63)/64)
	for i, v := range all {
		at := int(v>>rest) + i // so many zeros and ones come before its mark
		f.bits[at/64] |= 1 << (at % 64)
		f.set(i, uint64(v)&(1<<rest-1))
	}
	return f
}

// rest is how many bits of each its bucket does not tell.
func (f *fingerprints) rest() int {
	return fingerprintBits - min(bits.Len32(uint32(f.count)), fingerprintBits)
}

// marks is how many bits they are.
func (f *fingerprints) marks() int { return int(f.count) + 1<<(fingerprintBits-f.rest()) }

func (f *fingerprints) marked(at int) bool { return f.bits[at/64]>>(at%64)&1 != 0 }

// set writes the rest of the i-th over zeros.
func (f *fingerprints) set(i int, v uint64) {
	at := f.marks() + i*f.rest()
	f.bits[at/64] |= v << (at % 64)
	if at%64+f.rest() > 64 {
		f.bits[at/64+1] |= v >> (64 - at%64)
	}
}

// get reads the rest of the i-th.
func (f *fingerprints) get(i int) fingerprint {
	rest := f.rest()
	at := f.marks() + i*rest
	v := f.bits[at/64] >> (at % 64)
	if at%64+rest > 64 {
		v |= f.bits[at/64+1] << (64 - at%64)
	}
	return fingerprint(v & (1<<rest - 1))
}

// has reports whether v is among them.
func (f *fingerprints) has(v fingerprint) bool {
	if f.count == 0 {
		return false
	}
	bucket, rest := int(v>>f.rest()), v&(1<<f.rest()-1)
	for at := f.bucket(bucket); f.marked(at); at++ {
		if f.get(at-bucket) == rest {
			return true
		}
	}
	return false
}

// bucket is where the marks of a bucket begin: behind as many zeros.
func (f *fingerprints) bucket(n int) int {
	if n == 0 {
		return 0
	}
	for i := 0; ; i++ {
		zeros := ^f.bits[i]
		if c := bits.OnesCount64(zeros); c < n {
			n -= c
			continue
		}
		for ; n > 1; n-- {
			zeros &= zeros - 1
		}
		return 64*i + bits.TrailingZeros64(zeros) + 1
	}
}

// appendTo appends them all.
func (f *fingerprints) appendTo(all []fingerprint) []fingerprint {
	bucket := 0
	for at, i := 0, 0; i < int(f.count); at++ {
		if !f.marked(at) {
			bucket++
			continue
		}
		all = append(all, fingerprint(bucket)<<f.rest()|f.get(i))
		i++
	}
	return all
}
