package world

import (
	"log/slog"
	"testing"
)

// Whoever cleans up twice, after an error and at the end, must not hang.
func TestAWorldIsClosedTwice(t *testing.T) {
	w, err := Start(t.Context(), Options{Partitions: 1, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	}
}
