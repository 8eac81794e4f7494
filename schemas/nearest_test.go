package schemas

import "testing"

func TestNearest(t *testing.T) {
	known := []string{"precoKm", "precoMin", "minimo"}
	for wrong, want := range map[string]string{"precokm": "precoKm", "precKm": "precoKm", "precoMIn": "precoMin", "minino": "minimo", "moeda": "", "": ""} {
		if got := Nearest(wrong, known); got != want {
			t.Errorf("%q: %q, want %q", wrong, got, want)
		}
	}
}
