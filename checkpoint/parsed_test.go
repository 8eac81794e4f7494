package checkpoint

import (
	"encoding/json"
	"testing"
)

// However long an entry stays as it is, its text is that of the newest manifest: the bodies of those before are let go.
func TestParsedTextsAreThoseOfTheNewestManifest(t *testing.T) {
	var p parsed
	body := func(number Number) []byte {
		t.Helper()
		b, err := json.Marshal(Manifest{Number: number, Entries: []Entry{{Made: 1}, {Made: number}, {Made: 2}}})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for number := range Number(3) {
		text := body(number)
		now, _, err := p.entries(text)
		if err != nil {
			t.Fatal(err)
		}
		clear(text)
		for i, e := range now {
			if e.text[0] != 0 {
				t.Errorf("manifest %d: the text of entry %d lies in an earlier one", number, i)
			}
		}
		copy(text, body(number))
		p = now
	}
}
