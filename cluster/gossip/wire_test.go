package gossip

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"taximeter/checkpoint"
	"taximeter/cluster"
)

func drawMember(t *rapid.T) cluster.Member {
	text := rapid.StringN(0, 40, 60)
	return cluster.Member{
		ID: "n", Life: rapid.Int64().Draw(t, "life"), Remote: text.Draw(t, "remote"), Admin: text.Draw(t, "admin"),
		Version: text.Draw(t, "version"), Zone: text.Draw(t, "zone"), Weight: rapid.IntRange(0, maxWeight).Draw(t, "weight"),
		Speaks: cluster.Protocols{Min: checkpoint.Protocol(rapid.Uint32().Draw(t, "min")), Max: checkpoint.Protocol(rapid.Uint32().Draw(t, "max"))},
		Duty:   rapid.SampledFrom([]cluster.Duty{cluster.Serving, cluster.Draining, cluster.Resigned}).Draw(t, "duty"),
	}
}

func TestWhatANodeSaysComesBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := drawMember(t)
		said := encode(m)
		// A later format may append.
		later := append(bytes.Clone(said), rapid.SliceOf(rapid.Byte()).Draw(t, "more")...)
		later[0]++
		for _, wire := range [][]byte{said, later} {
			if got, err := decode("n", wire); err != nil || got != m {
				t.Fatalf("said %+v, heard %+v, %v", m, got, err)
			}
		}
		for cut := range said {
			if _, err := decode("n", said[:cut]); err == nil {
				t.Fatalf("%d of %d bytes pass for whole", cut, len(said))
			}
		}
	})
}

func FuzzDecode(f *testing.F) {
	f.Add("n", encode(cluster.Member{Remote: "10.0.0.1:7947", Weight: 4, Zone: "z"}))
	f.Add("n", []byte{1, 3, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Add("", []byte{0xff, 0xff})
	f.Fuzz(func(t *testing.T, id string, wire []byte) {
		m, err := decode(id, wire)
		if err != nil {
			return
		}
		if m.ID != checkpoint.NodeID(id) || m.Duty >= cluster.Absent || m.Weight < 0 || m.Weight > maxWeight {
			t.Fatalf("took %+v", m)
		}
		if again, err := decode(id, encode(m)); err != nil || again != m {
			t.Fatalf("%+v became %+v, %v", m, again, err)
		}
	})
}

func TestValidate(t *testing.T) {
	good := func() Config {
		return Config{Self: cluster.Member{ID: "n", Weight: 1}, Listen: "127.0.0.1:7946", Seeds: []string{"10.0.0.1:7946", "nodes.example:7946"},
			Keys: [][]byte{make([]byte, 32)}, Allowed: []string{"10.0.0.0/8"}}
	}
	if err := good().Validate(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*Config){
		"node id":                 func(c *Config) { c.Self.ID = "" },
		"weight -1":               func(c *Config) { c.Self.Weight = -1 },
		"512 are allowed":         func(c *Config) { c.Self.Zone = strings.Repeat("z", 512) },
		"listen: \"7946\"":        func(c *Config) { c.Listen = "7946" },
		"is no IP address":        func(c *Config) { c.Advertise = "localhost:7946" },
		"seeds[1]":                func(c *Config) { c.Seeds[1] = "nodes.example" },
		"seeds[0]":                func(c *Config) { c.Seeds[0] = "10.0.0.1:0" },
		"neither seeds nor":       func(c *Config) { c.Seeds = nil },
		"keys[0] has 31 bytes":    func(c *Config) { c.Keys[0] = make([]byte, 31) },
		"label has 256":           func(c *Config) { c.Label = strings.Repeat("l", 256) },
		"networks look like":      func(c *Config) { c.Allowed = []string{"10.0.0.0"} },
		"profile 2 does not exis": func(c *Config) { c.Profile = 2 },
	} {
		c := good()
		spoil(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("want a fault with %q, got %v", want, err)
		}
	}
}
