package main

import "testing"

// Ratios count by taximeter as it ships, or by what of it ran.
func TestTheBaseOfRatiosIsWhatRan(t *testing.T) {
	one := []measure{{cpu: 1}}
	for _, c := range []struct {
		ran  map[string][]measure
		want string
	}{
		{map[string][]measure{ours: one, oursWithoutAlerts: one}, ours},
		{map[string][]measure{oursWithoutAlerts: one, "streams-tuned": one}, oursWithoutAlerts},
	} {
		if got := (&comparison{measures: c.ran}).base(); got != c.want {
			t.Errorf("the base is %s, want %s", got, c.want)
		}
	}
}
