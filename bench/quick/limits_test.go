package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestARunBeyondALimitIsTold(t *testing.T) {
	l := limits{Allocs: 5, AllocBytes: 2000, Ratio: 8}
	if err := l.check(&result{Allocs: 5, AllocBytes: 2000, Ratio: 8}); err != nil {
		t.Errorf("at the limits: %v", err)
	}
	err := l.check(&result{Allocs: 5.01, AllocBytes: 1999, Ratio: 8.2})
	if err == nil || !strings.Contains(err.Error(), "allocs_per_event is 5.01, at most 5.00") ||
		!strings.Contains(err.Error(), "ratio is 8.20") || strings.Contains(err.Error(), "alloc_bytes") {
		t.Errorf("beyond two of them: %v", err)
	}
}

func TestTheLimitsOfCIAreComplete(t *testing.T) {
	if _, err := readLimits("limits.json"); err != nil {
		t.Error(err)
	}
	half := filepath.Join(t.TempDir(), "half.json")
	if err := os.WriteFile(half, []byte(`{"ratio": 3}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readLimits(half); err == nil || !strings.Contains(err.Error(), "write all of") {
		t.Errorf("half of them: %v", err)
	}
}
