package ingest

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/pierrec/lz4/v4"
	"github.com/twmb/franz-go/pkg/kgo"
)

func lz4Of(t testing.TB, plain []byte, options ...lz4.Option) []byte {
	var out bytes.Buffer
	w := lz4.NewWriter(&out)
	if err := w.Apply(options...); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(plain); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// samples are a text, what cannot be compressed, both, much of nothing, and nothing.
func samples() map[string][]byte {
	noise := make([]byte, 150_000)
	random := rand.NewChaCha8([32]byte{1})
	_, _ = random.Read(noise)
	text := []byte(strings.Repeat("corridas.telemetria, e mais uma. ", 6_000))
	return map[string][]byte{"text": text, "noise": noise, "both": append(append([]byte{}, text...), noise...),
		"zeros": make([]byte, 5<<20), "one byte": {7}, "nothing": {}}
}

// The frames of Java's client and librdkafka are of blocks of 64 KB without sums, those of Go's
// clients of blocks of 4 MB with a sum.
func TestFramesOfLZ4AreDecodedAsTheLibraryDoes(t *testing.T) {
	for name, c := range map[string]struct {
		options []lz4.Option
		inPlace bool
	}{
		"franz-go":             {nil, true},
		"java":                 {[]lz4.Option{lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false)}, true},
		"sums of the blocks":   {[]lz4.Option{lz4.BlockSizeOption(lz4.Block256Kb), lz4.BlockChecksumOption(true)}, false},
		"legacy":               {[]lz4.Option{lz4.LegacyOption(true)}, false},
		"with its size before": {[]lz4.Option{lz4.SizeOption(1)}, false},
	} {
		for sample, plain := range samples() {
			if name == "with its size before" {
				plain = []byte{7}
			}
			t.Run(name+" "+sample, func(t *testing.T) {
				d, err := newDecompressor(newBuffers())
				if err != nil {
					t.Fatal(err)
				}
				packed := lz4Of(t, plain, c.options...)
				if _, ok := parseLZ4(packed); ok != c.inPlace {
					t.Errorf("decoded in place: %v, want %v", ok, c.inPlace)
				}
				for range 2 { // the second time in what the first gave back
					got, err := d.Decompress(packed, kgo.CodecLz4)
					if err != nil || !bytes.Equal(got, plain) {
						t.Fatalf("%d of %d bytes: %v", len(got), len(plain), err)
					}
					clear(got)
					d.lent.PutDecompressBytes(got)
				}
			})
		}
	}
}

func TestFramesOneBehindTheOtherAreTheLibrarys(t *testing.T) {
	two := append(lz4Of(t, []byte("one")), lz4Of(t, []byte("two"))...)
	if _, ok := parseLZ4(two); ok {
		t.Error("the second would be lost")
	}
	d, err := newDecompressor(newBuffers())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := d.Decompress(two, kgo.CodecLz4); string(got) != "onetwo" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestABatchThatWouldFillTheMemoryIsRefused(t *testing.T) {
	zeros := make([]byte, maxDecompressed+1)
	d, err := newDecompressor(newBuffers())
	if err != nil {
		t.Fatal(err)
	}
	frame := lz4Of(t, zeros)
	if _, ok := parseLZ4(frame); !ok {
		t.Fatal("the library's bound is tried, not ours")
	}
	if _, err := d.Decompress(frame, kgo.CodecLz4); !errors.Is(err, kgo.ErrMaxDecompress) {
		t.Errorf("lz4: %v", err)
	}
	c, err := kgo.DefaultCompressor(kgo.ZstdCompression())
	if err != nil {
		t.Fatal(err)
	}
	packed, codec := c.Compress(new(bytes.Buffer), zeros)
	if _, err := d.Decompress(packed, codec); !errors.Is(err, kgo.ErrMaxDecompress) {
		t.Errorf("zstd: %v", err)
	}
}

// Whatever is not a frame is an error or what the library makes of it, never a panic; and what
// is decoded in place is what the library reads, unless only the frame's sum is wrong.
func FuzzFramesOfLZ4(f *testing.F) {
	for _, plain := range samples() {
		short := plain[:min(len(plain), 3000)]
		f.Add(lz4Of(f, short))
		f.Add(lz4Of(f, short, lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false)))
	}
	ours, err := newDecompressor(newBuffers())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		got, err := ours.Decompress(src, kgo.CodecLz4)
		want, theirs := ours.Decompressor.Decompress(src, kgo.CodecLz4)
		if theirs == nil && (err != nil || !bytes.Equal(got, want)) {
			t.Fatalf("%q, %v; the library reads %q", got, err, want)
		}
	})
}

// One batch as franz-go sends it, 64 KB of telemetry-like text.
func BenchmarkDecompress(b *testing.B) {
	noise := make([]byte, 32)
	random := rand.NewChaCha8([32]byte{2})
	var plain []byte
	for len(plain) < 64<<10 {
		_, _ = random.Read(noise)
		plain = append(append(plain, noise...), "01925f3c-passageiro-placa-modelo-versao-"...)
	}
	d, err := newDecompressor(newBuffers())
	if err != nil {
		b.Fatal(err)
	}
	for name, with := range map[string]kgo.Decompressor{"library": d.Decompressor, "in place": d} {
		for made, options := range map[string][]lz4.Option{"franz-go": nil, "java": {lz4.BlockSizeOption(lz4.Block64Kb), lz4.ChecksumOption(false)}} {
			packed := lz4Of(b, plain, options...)
			b.Run(made+"/"+name, func(b *testing.B) {
				b.SetBytes(int64(len(plain)))
				b.ReportAllocs()
				for b.Loop() {
					out, err := with.Decompress(packed, kgo.CodecLz4)
					if err != nil {
						b.Fatal(err)
					}
					d.lent.PutDecompressBytes(out)
				}
			})
		}
	}
}
