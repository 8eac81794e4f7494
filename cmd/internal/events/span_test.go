package events

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestSpan(t *testing.T) {
	write := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	one := write("1.jsonl", `{"topic":"corridas.eventos","value":{"eventId":"a","tripId":"t","ocorridoEm":1764000060000,"tipo":"INICIO"}}
{"topic":"corridas.eventos","value":{"eventId":"b","tripId":"t","ocorridoEm":1,"tipo":"INICIO"}}
{"topic":"corridas.eventos","appendedAt":1764000070000,"value":{"eventId":"c","tripId":"t","ocorridoEm":1764099999000,"tipo":"INICIO"}}
`)
	two := write("2.jsonl", `{"topic":"corridas.eventos","value":{"eventId":"d","tripId":"t","ocorridoEm":1764000000000,"tipo":"INICIO"}}
`)
	first, last, err := Span(t.Context(), []string{one, two})
	if first != 1_764_000_000_000 || last != 1_764_000_060_000 || err != nil {
		t.Errorf("%v to %v, %v", first, last, err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		write("none.jsonl", ""): "there is nothing to play",
		pipe:                    "it is no plain file",
	} {
		if _, _, err := Span(t.Context(), []string{path}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
