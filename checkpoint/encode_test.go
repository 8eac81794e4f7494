package checkpoint_test

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"taximeter/checkpoint"
	"taximeter/checkpoint/storetest"
	"taximeter/schemas"
)

var update = flag.Bool("update", false, "write the golden files anew")

// golden compares with the file of a released format: what this test holds must stay
// readable for ever, so a difference means a new format number and a new file.
func golden(t *testing.T, name string, data []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		must(t, os.MkdirAll("testdata", 0o755))
		must(t, os.WriteFile(path, data, 0o644))
	}
	want, err := os.ReadFile(path)
	must(t, err)
	if !bytes.Equal(data, want) {
		t.Errorf("%s: the encoding changed:\n%s", name, data)
	}
}

func richManifest(t *testing.T) checkpoint.Manifest {
	tip := chainOf(t)
	tip.Entries[1].Cut = &checkpoint.Offsets{}
	tip.Entries[1].Abandoned = &checkpoint.Abandoned{Spans: []checkpoint.Span{{After: 1, Through: 2}}, Since: 3, Next: checkpoint.Offsets{4, 5, 6}, Watermark: 7}
	return grown(t, tip, richSeal(tip))
}

func richSeal(tip checkpoint.Manifest) checkpoint.Seal {
	s := sealOf(tip, 0, 0, 4)
	s.Next = checkpoint.Offsets{4, 5, 6}
	s.Outbox.Staged = []checkpoint.File{fileOf(ns.Stage, s, "lake")}
	s.Published, s.Reached = 1, true
	s.Alerts = checkpoint.Alerts{Unsent: []schemas.Alert{{AlertID: "id", RuleID: "r", RuleVersion: 2, Kind: "parada", TripID: "t<&>", Details: map[string]string{"k": "v"}}},
		Seen: []string{"seen"}, LogNext: 9}
	return s
}

func TestManifestRoundTrip(t *testing.T) {
	m := richManifest(t)
	data, err := checkpoint.EncodeManifest(m)
	must(t, err)
	got, err := checkpoint.DecodeManifest(ns.Manifest(m.Number), data)
	must(t, err)
	if !reflect.DeepEqual(got, m) {
		t.Errorf("got  %+v\nwant %+v", got, m)
	}
	golden(t, "manifest-1.json", data)
	m.Protocol = checkpoint.Protocol2
	data, err = checkpoint.EncodeManifest(m)
	must(t, err)
	golden(t, "manifest-2.json", data)
	if got, err = checkpoint.DecodeManifest(ns.Manifest(m.Number), data); err != nil || !reflect.DeepEqual(got, m) {
		t.Errorf("got  %+v, %v\nwant %+v", got, err, m)
	}
}

func TestSealRoundTrip(t *testing.T) {
	s := richSeal(chainOf(t))
	data, err := checkpoint.EncodeSeal(s)
	must(t, err)
	got, err := checkpoint.DecodeSeal(s.Key(), data)
	must(t, err)
	if !reflect.DeepEqual(got, s) {
		t.Errorf("got  %+v\nwant %+v", got, s)
	}
	golden(t, "seal-1.json", data)
}

// No single flipped bit passes for another manifest; the error names the object.
func TestFlippedBitIsCorrupt(t *testing.T) {
	m := richManifest(t)
	key := ns.Manifest(m.Number)
	data, err := checkpoint.EncodeManifest(m)
	must(t, err)
	for i := range data {
		for bit := range 8 {
			bad := bytes.Clone(data)
			bad[i] ^= 1 << bit
			got, err := checkpoint.DecodeManifest(key, bad)
			var corrupt *checkpoint.CorruptError
			if errors.As(err, &corrupt) && corrupt.Key == key && strings.Contains(err.Error(), key) {
				continue
			}
			if err == nil && reflect.DeepEqual(got, m) {
				continue // the case of a JSON key: no harm done
			}
			t.Fatalf("byte %d (%q), bit %d: %v", i, data[i], bit, err)
		}
	}
	for n := range len(data) {
		if _, err := checkpoint.DecodeManifest(key, data[:n]); err == nil {
			t.Fatalf("cut to %d bytes it still reads", n)
		}
	}
}

func TestObjectAtAnotherKeyIsCorrupt(t *testing.T) {
	var corrupt *checkpoint.CorruptError
	m, s := richManifest(t), richSeal(chainOf(t))
	data, err := checkpoint.EncodeManifest(m)
	must(t, err)
	if _, err := checkpoint.DecodeManifest(ns.Manifest(m.Number+1), data); !errors.As(err, &corrupt) {
		t.Errorf("manifest: %v", err)
	}
	if _, err := checkpoint.DecodeSeal(s.Key(), data); !errors.As(err, &corrupt) {
		t.Errorf("a manifest read as seal: %v", err)
	}
	data, err = checkpoint.EncodeSeal(s)
	must(t, err)
	if _, err := checkpoint.DecodeSeal(s.Key()+"1", data); !errors.As(err, &corrupt) {
		t.Errorf("seal: %v", err)
	}
}

// The files were made by hand from this format's, with the number 3 or a field more and the
// checksum that goes with it.
func TestNewerFormatSaysUpgrade(t *testing.T) {
	newer, err := os.ReadFile("testdata/manifest-newer.json")
	must(t, err)
	_, err = checkpoint.DecodeManifest("ns/manifest/x", newer)
	var e *checkpoint.NewerFormatError
	if !errors.As(err, &e) || e.Key != "ns/manifest/x" || e.Have != checkpoint.Format || e.Want != 3 || !strings.Contains(err.Error(), "upgrade") {
		t.Errorf("got %v", err)
	}
	// A field that this format does not have must not be dropped silently.
	more, err := os.ReadFile("testdata/manifest-unknown-field.json")
	must(t, err)
	var corrupt *checkpoint.CorruptError
	if _, err := checkpoint.DecodeManifest("ns/manifest/x", more); !errors.As(err, &corrupt) || !strings.Contains(err.Error(), "surprise") {
		t.Errorf("got %v", err)
	}
}

func TestImpossibleManifestsAreNotWritten(t *testing.T) {
	for name, mod := range map[string]func(*checkpoint.Manifest){
		"no token":         func(m *checkpoint.Manifest) { m.Token = "" },
		"number 0":         func(m *checkpoint.Manifest) { m.Number = 0 },
		"oldest in future": func(m *checkpoint.Manifest) { m.Oldest = m.Number + 1 },
		"members unsorted": func(m *checkpoint.Manifest) { m.Members = []checkpoint.NodeID{"c", "a"} },
		"member twice":     func(m *checkpoint.Manifest) { m.Members = []checkpoint.NodeID{"a", "a"} },
		"foreign owner":    func(m *checkpoint.Manifest) { m.Entries[0].Owner = "z" },
		"made in future":   func(m *checkpoint.Manifest) { m.Entries[0].Made = 99 },
		"first after next": func(m *checkpoint.Manifest) { m.Entries[0].First[2] = 99 },
		"pending unordered": func(m *checkpoint.Manifest) {
			m.Entries[0].Pending = append(m.Entries[0].Pending, m.Entries[0].Pending...)
		},
		"pending unmade": func(m *checkpoint.Manifest) { m.Entries[0].Pending[0].Made = 0 },
		"bad namespace":  func(m *checkpoint.Manifest) { m.Namespace = "../x" },
		"no partitions":  func(m *checkpoint.Manifest) { m.Entries = nil },
	} {
		m := richManifest(t)
		mod(&m)
		if _, err := checkpoint.EncodeManifest(m); err == nil {
			t.Errorf("%s: was encoded", name)
		}
	}
}

func FuzzDecodeManifest(f *testing.F) {
	for _, name := range []string{"manifest-1.json", "seal-1.json"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if m, err := checkpoint.DecodeManifest(ns.Manifest(3), data); err == nil {
			if _, err := checkpoint.EncodeManifest(m); err != nil {
				t.Fatalf("decoded and cannot be encoded: %v", err)
			}
		}
		_, _ = checkpoint.DecodeSeal("k", data)
	})
}

// With a gigabyte in four partitions each has 256 files. Every node reads every manifest.
func BenchmarkManifest(b *testing.B) {
	m := checkpoint.Genesis("ns", [schemas.NumInputs]string{"a", "b", "c"}, make([]checkpoint.Offsets, 12), checkpoint.Stamp{At: 1, By: "a", Token: "g"})
	for p := range m.Entries {
		for i := range 256 {
			place := checkpoint.Place{Partition: schemas.Partition(p), Epoch: 3, Seal: checkpoint.SealNumber(i)}
			f := checkpoint.FileOf(fmt.Append(nil, p, i), func(sum string) string { return m.Namespace.Part(place, sum) })
			f.Name = fmt.Sprintf("%06d.sst", i)
			m.Entries[p].Files = append(m.Entries[p].Files, f)
		}
	}
	data, err := checkpoint.EncodeManifest(m)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("encode", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := checkpoint.EncodeManifest(m); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode one after another", func(b *testing.B) {
		mem := storetest.NewMemory()
		if err := mem.Put(ctx, m.Namespace.Manifest(m.Number), bytes.NewReader(data)); err != nil {
			b.Fatal(err)
		}
		chain := checkpoint.NewChain(mem, m.Namespace)
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := chain.Read(ctx, m.Number); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := checkpoint.DecodeManifest(m.Namespace.Manifest(m.Number), data); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// A chain that reads one manifest after another parses what has not changed once. What it reads is what
// the manifest says, whatever the one before said.
func TestManifestsReadOneAfterAnotherAreWhatTheySay(t *testing.T) {
	mem := storetest.NewMemory()
	chain := checkpoint.NewChain(mem, ns)
	m := richManifest(t)
	put := func(change func(m *checkpoint.Manifest)) {
		t.Helper()
		m.Number++
		m.Entries = slices.Clone(m.Entries)
		change(&m)
		data, err := checkpoint.EncodeManifest(m)
		if err != nil {
			t.Fatal(err)
		}
		key := ns.Manifest(m.Number)
		if err := mem.Put(ctx, key, bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
		want, err := checkpoint.DecodeManifest(key, data)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := chain.Read(ctx, m.Number); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("manifest %d read as %+v, %v\nwant %+v", m.Number, got, err, want)
		}
	}
	put(func(*checkpoint.Manifest) {})
	put(func(m *checkpoint.Manifest) { m.Entries[0].Watermark++ })
	put(func(m *checkpoint.Manifest) { m.Entries = append(m.Entries, m.Entries[0]) })
	put(func(m *checkpoint.Manifest) { m.Entries[1].Epoch++ })
	put(func(m *checkpoint.Manifest) { m.Entries = m.Entries[:1] })
	put(func(m *checkpoint.Manifest) { m.Token += "'" })
}

// An envelope is taken apart without parsing its body, so what is no envelope must be seen.
func TestWhatIsNoEnvelopeIsCorrupt(t *testing.T) {
	for _, data := range []string{"", "{}", "null", `{"format":1,"kind":"manifest","sha256":""}`, `{"format":1,"kind":"manifest","sha256":"","body":`, `,"body":}`,
		`{"format":1,"kind":"manifest","sha256":"","body":{}`, `{"format":1,"kind":"manifest","sha256":"","body":{}}}`} {
		var corrupt *checkpoint.CorruptError
		if _, err := checkpoint.DecodeManifest("ns/manifest/1", []byte(data)); !errors.As(err, &corrupt) {
			t.Errorf("%s: %v", data, err)
		}
	}
}
