package schemas

import (
	"bytes"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// eventIDs are of all forms: canonical UUIDs and what only looks like one, none, short and long.
func eventIDs() *rapid.Generator[string] {
	uuid := rapid.StringMatching(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	return rapid.OneOf(
		uuid,
		rapid.Map(uuid, strings.ToUpper),
		rapid.StringMatching(`[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}`),
		rapid.Map(uuid, func(id string) string { return strings.ReplaceAll(id, "-", "0")[:32] }),
		rapid.StringMatching(`[0-9a-g-]{36}`),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 36, 36), func(b []byte) string { return string(b) }),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 40), func(b []byte) string { return string(b) }),
		rapid.Map(rapid.IntRange(120, 20_000), func(n int) string { return strings.Repeat("x", n) }), // lengths of one to three bytes
		rapid.String(),
	)
}

func TestPackedIDsComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := rapid.SliceOfN(rapid.Byte(), 0, 3).Draw(t, "before")
		id := eventIDs().Draw(t, "id")
		packed := AppendPacked(bytes.Clone(before), EventID(id))
		if !bytes.HasPrefix(packed, before) {
			t.Fatalf("%q was appended to %q: %q", id, before, packed)
		}
		packed = packed[len(before):]
		text := AppendUnpacked(bytes.Clone(before), packed)
		if string(text) != string(before)+id {
			t.Fatalf("%q came back behind %q as %q", id, before, text)
		}
		if (len(packed) == 0) != (id == "") {
			t.Fatalf("%q is packed as %q", id, packed)
		}
	})
}

// Entries lie one behind the other, and each tells where the next begins.
func TestPackedLenIsWhereTheNextBegins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := eventIDs().Filter(func(id string) bool { return id != "" }).Draw(t, "id")
		packed := AppendPacked(nil, EventID(id))
		behind := rapid.SliceOfN(rapid.Byte(), 0, 40).Draw(t, "behind")
		if n := PackedLen(append(bytes.Clone(packed), behind...)); n != len(packed) {
			t.Fatalf("%q takes %d bytes, %d are told", id, len(packed), n)
		}
		cut := rapid.IntRange(0, len(packed)-1).Draw(t, "cut")
		if n := PackedLen(packed[:cut]); n != 0 {
			t.Fatalf("of %q there are %d of %d bytes, %d are told", id, cut, len(packed), n)
		}
	})
}

// Only the canonical form has 16 bytes, and those sort as their texts do.
func TestPackedUUIDsSortAsTheirTexts(t *testing.T) {
	uuid := rapid.StringMatching(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := uuid.Draw(t, "a"), uuid.Draw(t, "b")
		pa, pb := AppendPacked(nil, EventID(a)), AppendPacked(nil, EventID(b))
		if len(pa) != packedUUIDLen || !IsPackedUUID(pa) || bytes.Compare(pa, pb) != strings.Compare(a, b) {
			t.Fatalf("%s is packed as %x, %s as %x", a, pa, b, pb)
		}
		if upper := strings.ToUpper(a); upper != a && IsPackedUUID(AppendPacked(nil, EventID(upper))) {
			t.Fatalf("%s would come back in lower case", upper)
		}
	})
}

// One wrong character anywhere makes text of it.
func TestOnlyDigitsArePacked(t *testing.T) {
	const id = "8f14e45f-ceea-467f-a8b5-1f2c7b1c9d01"
	for at := range len(id) {
		for c := range 256 {
			other := []byte(id)
			other[at] = byte(c)
			packed := AppendPacked(nil, EventID(other))
			digit := strings.IndexByte("0123456789abcdef", byte(c)) >= 0
			if IsPackedUUID(packed) != (id[at] == '-' && c == '-' || id[at] != '-' && digit) || string(AppendUnpacked(nil, packed)) != string(other) {
				t.Errorf("%q is packed as %q", other, packed)
			}
		}
	}
}

func BenchmarkAppendPacked(b *testing.B) {
	var buf [64]byte
	for b.Loop() {
		if len(AppendPacked(buf[:0], "8f14e45f-ceea-467f-a8b5-1f2c7b1c9d01")) != packedUUIDLen {
			b.Fatal("not packed")
		}
	}
}
