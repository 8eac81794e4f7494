package ingest

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"
)

// decompressor decodes the blocks of lz4 frames where their bytes are to lie. The library's
// reader copies a block before it decodes it and, where a block may become larger than what is
// left of the buffer, afterwards too; and it computes the frame's sum, at which Kafka's own
// consumer does not look either: the batch around the frame has one, which the client checks.
//
// Frames of another make than producers' and all other codecs are the library's.
type decompressor struct {
	kgo.Decompressor // bounded by maxDecompressed, lent the same buffers
	lent             *buffers
}

// newDecompressor takes the library's from a client that never connects: only a client's is bounded.
func newDecompressor(lent *buffers) (*decompressor, error) {
	client, err := kgo.NewClient(kgo.DisableClientMetrics(), kgo.MaxDecompressBatchBytes(maxDecompressed), kgo.WithPools(lent))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	bounded, ok := client.OptValue(kgo.WithDecompressor).(kgo.Decompressor)
	if !ok {
		return nil, errors.New("the Kafka client has no decompressor")
	}
	return &decompressor{bounded, lent}, nil
}

func (d *decompressor) Decompress(src []byte, codec kgo.CompressionCodecType) ([]byte, error) {
	frame, ok := parseLZ4(src)
	if codec != kgo.CodecLz4 || !ok {
		return d.Decompressor.Decompress(src, codec)
	}
	room := d.lent.GetDecompressBytes(src, codec)[:0]
	out, err := frame.appendTo(room)
	if err != nil {
		d.lent.PutDecompressBytes(room)
		return nil, fmt.Errorf("lz4 frame of %d bytes: %w", len(src), err)
	}
	return out, nil
}

// lz4Frame is a whole frame whose blocks can be decoded by themselves.
type lz4Frame struct {
	blocks    []byte // each behind its size, up to the end mark
	blockSize int    // what one of them decodes to, at most
}

// Of the frame format, version 1.6: https://github.com/lz4/lz4/blob/dev/doc/lz4_Frame_format.md
const (
	lz4Magic      = 0x184D2204
	lz4Header     = 7 // magic, flags, block size, sum of the two
	lz4Plain      = 0x60
	lz4ContentSum = 0x04
	lz4LeastBlock = 4       // 64 KB; each index above is four times as much
	lz4MostBlock  = 7       // 4 MB
	lz4Stored     = 1 << 31 // in a block's size: it is not compressed
)

// parseLZ4 is false for a frame with what producers do not use, or with something behind it,
// and for one that is damaged: the library knows, or says what is wrong.
func parseLZ4(src []byte) (f lz4Frame, ok bool) {
	if len(src) < lz4Header || binary.LittleEndian.Uint32(src) != lz4Magic {
		return f, false
	}
	flags, index := src[4], src[5]>>4
	if flags&^lz4ContentSum != lz4Plain || index < lz4LeastBlock || index > lz4MostBlock {
		return f, false
	}
	f.blocks, f.blockSize = src[lz4Header:], 64<<10<<(2*(index-lz4LeastBlock))
	at := 0
	for {
		if len(f.blocks)-at < 4 {
			return f, false
		}
		size := int(binary.LittleEndian.Uint32(f.blocks[at:]) &^ lz4Stored)
		if size == 0 {
			break
		}
		if size > f.blockSize || size > len(f.blocks)-at-4 {
			return f, false
		}
		at += 4 + size
	}
	behind := len(f.blocks) - at - 4
	f.blocks = f.blocks[:at]
	return f, behind == int(flags&lz4ContentSum) // the sum takes as many bytes as its flag counts
}

// appendTo decodes the frame behind dst, which grows if there is not enough room.
func (f lz4Frame) appendTo(dst []byte) ([]byte, error) {
	for rest := f.blocks; len(rest) > 0; {
		size := binary.LittleEndian.Uint32(rest)
		block := rest[4 : 4+size&^lz4Stored]
		rest = rest[4+len(block):]
		if size&lz4Stored != 0 {
			dst = append(dst, block...)
		} else {
			var err error
			if dst, err = f.appendBlock(dst, block); err != nil {
				return nil, err
			}
		}
		if len(dst) > maxDecompressed {
			return nil, kgo.ErrMaxDecompress
		}
	}
	return dst, nil
}

// appendBlock tries the room there is: how much a block needs is known when it is decoded.
func (f lz4Frame) appendBlock(dst, block []byte) ([]byte, error) {
	for {
		room := dst[len(dst):cap(dst)]
		room = room[:min(len(room), f.blockSize)]
		n, err := lz4.UncompressBlock(block, room)
		if err == nil {
			return dst[:len(dst)+n], nil
		}
		if len(room) == f.blockSize {
			return nil, err
		}
		dst = slices.Grow(dst, min(f.blockSize, max(2*len(room), 4*len(block))))
	}
}
