package schemas

import "encoding/binary"

// PartitionOf is where Kafka's default partitioner puts a record with that key, out of a
// number of partitions: 32-bit murmur2 without its sign bit, modulo the number. An empty
// key is a key; records without one are not ours to place.
func PartitionOf(key []byte, partitions int) Partition {
	return Partition(murmur2(key) & 0x7fffffff % uint32(partitions))
}

// murmur2 is Austin Appleby's MurmurHash2 with the seed of Kafka's clients.
func murmur2(b []byte) uint32 {
	const seed, m, r = 0x9747b28c, 0x5bd1e995, 24
	h := seed ^ uint32(len(b))
	for ; len(b) >= 4; b = b[4:] {
		k := binary.LittleEndian.Uint32(b) * m
		k ^= k >> r
		h = h*m ^ k*m
	}
	switch len(b) {
	case 3:
		h ^= uint32(b[2]) << 16
		fallthrough
	case 2:
		h ^= uint32(b[1]) << 8
		fallthrough
	case 1:
		h = (h ^ uint32(b[0])) * m
	}
	h ^= h >> 13
	h *= m
	return h ^ h>>15
}
