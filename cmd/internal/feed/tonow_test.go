package feed

import (
	"testing"

	"taximeter/schemas"
)

// No event lies ahead of the clock when its turn comes, and the recording ends or begins now.
func TestARecordingMovesToNow(t *testing.T) {
	const first, last, now schemas.Millis = 1_000_000, 1_000_000 + 600_000, 9_000_000
	for speed, begin := range map[Speed]schemas.Millis{
		0: now - 600_000, 0.5: now, 1: now, 2: now - 300_000, 60: now - 590_000,
	} {
		shift := speed.ToNow(first, last, now)
		if got := first + shift; got != begin {
			t.Errorf("speed %v: begins at %d, want %d", speed, got, begin)
		}
		sent := now // when the last event's turn comes
		if speed > 0 {
			sent += schemas.Millis(float64(last-first) / float64(speed))
		}
		if last+shift > sent {
			t.Errorf("speed %v: the last event lies %d ms ahead", speed, last+shift-sent)
		}
	}
}
