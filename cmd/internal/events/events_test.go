package events

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func line(id string) string {
	return `{"topic":"corridas.eventos","value":{"eventId":"` + id + `","tripId":"t","ocorridoEm":1764000000000,"tipo":"INICIO"}}` + "\n"
}

func TestFilesAreReadOneAfterTheOther(t *testing.T) {
	dir := t.TempDir()
	plain, empty, zipped := filepath.Join(dir, "1"), filepath.Join(dir, "2"), filepath.Join(dir, "3")
	var z strings.Builder
	w := gzip.NewWriter(&z)
	if _, err := io.WriteString(w, line("c")); err != nil || w.Close() != nil {
		t.Fatal(err)
	}
	for path, text := range map[string]string{plain: line("a") + line("b"), empty: "", zipped: z.String()} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	f, err := Open([]string{zipped, empty, plain})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if want := int64(len(z.String()) + len(line("a")+line("b"))); f.Size() != want || f.Read() != 0 {
		t.Errorf("%d of %d bytes before the start, want 0 of %d", f.Read(), f.Size(), want)
	}
	got := ""
	for {
		l, err := f.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		got += string(l.Ride.EventID)
	}
	if got != "cab" || f.Read() != f.Size() {
		t.Errorf("read %q, %d of %d bytes", got, f.Read(), f.Size())
	}
	if _, err := f.Next(); err != io.EOF {
		t.Errorf("after the end: %v", err)
	}
}

func TestAllFilesAreLookedAtBeforeTheFirstIsRead(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good")
	if err := os.WriteFile(good, []byte(line("a")), 0o666); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{filepath.Join(dir, "nowhere"): "no such file", dir: "it is a folder"} {
		if _, err := Open([]string{good, path}); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", path, err)
		}
	}
	f, err := Open([]string{good})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(good, []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Next(); err == nil || !strings.Contains(err.Error(), good+":1: ") {
		t.Errorf("a fault without its place: %v", err)
	}
}
