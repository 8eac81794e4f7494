package chaos

import (
	"strings"
	"testing"

	"taximeter/cmd/internal/chaos/inject"
)

func TestASeedRepeatsItsPlan(t *testing.T) {
	for seed := range uint64(50) {
		if a, b := Draw(seed).String(), Draw(seed).String(); a != b {
			t.Fatalf("seed %d:\n%s\n%s", seed, a, b)
		}
	}
}

// Many seeds together reach every point, every end and every fault.
func TestSeedsCoverEverything(t *testing.T) {
	missing := map[string]bool{", network=": true, ", dark for": true, "store=": true, "live, ": true, "replay, ": true}
	for _, p := range inject.Points() {
		missing["crash="+string(p)+":"] = true
	}
	for e := range numEnds {
		missing[e.String()+" within"] = true
	}
	for seed := range uint64(200) {
		s := Draw(seed)
		text, replay := s.String(), false
		for word := range missing {
			if strings.Contains(text, word) {
				delete(missing, word)
			}
		}
		for i := range s.Lives {
			if replay && !s.Lives[i].Replay {
				t.Errorf("a live run follows a replay:\n%s", text)
			}
			replay = s.Lives[i].Replay
		}
	}
	for word := range missing {
		t.Errorf("never drawn: %q", word)
	}
}
