package dev

import (
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A folder for the results that cannot be made is told before any work, not after all of it.
func TestAnOutputFolderThatCannotBeMadeIsToldFirst(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	o := DefaultOptions()
	o.KafkaPort = taken.Addr().(*net.TCPAddr).Port // else the first thing that would fail
	o.Events, o.UntilDone, o.Out, o.Say, o.Log = []string{file}, true, file, io.Discard, slog.New(slog.DiscardHandler)
	if _, err := Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), "--out") {
		t.Errorf("said %v", err)
	}
}
