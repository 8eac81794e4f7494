package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// What dev cannot work with is told in one sentence, with the exit code of its kind, and
// leaves no results behind.
func TestDevRefusesWhatItCannotWorkWith(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	port := strconv.Itoa(taken.Addr().(*net.TCPAddr).Port)
	const event = `{"topic":"corridas.eventos","value":{"eventId":"e","tripId":"t","ocorridoEm":1767592800000,"tipo":"INICIO"}}` + "\n"
	for name, c := range map[string]struct {
		args []string
		code int
		want []string
	}{
		"no tariffs":                    {[]string{"--until-done", "--events", "good.jsonl"}, exitUsage, []string{"--tariffs is missing"}},
		"no events":                     {[]string{"--until-done"}, exitUsage, []string{"--until-done needs --events"}},
		"an event file that is missing": {[]string{"--until-done", "--events", "none.jsonl", "--tariffs", "tarifas.json"}, exitError, []string{"none.jsonl"}},
		"an event file that is a folder": {[]string{"--until-done", "--events", "folder", "--tariffs", "tarifas.json"}, exitError,
			[]string{"folder", "it is a folder"}},
		"a line that is no JSON": {[]string{"--until-done", "--events", "bad.jsonl", "--tariffs", "tarifas.json"}, exitError, []string{"bad.jsonl", "2"}},
		"a topic that is none":   {[]string{"--until-done", "--events", "topic.jsonl", "--tariffs", "tarifas.json"}, exitError, []string{"corridas.telemetry"}},
		"tariffs that are none":  {[]string{"--until-done", "--events", "good.jsonl", "--tariffs", "good.jsonl"}, exitError, []string{"good.jsonl"}},
		"a broker port in use": {[]string{"--until-done", "--events", "good.jsonl", "--tariffs", "tarifas.json", "--kafka-port", port}, exitError,
			[]string{port, "--kafka-port 0"}},
		"a data folder that is a file": {[]string{"--until-done", "--events", "good.jsonl", "--tariffs", "tarifas.json", "--data", "good.jsonl"}, exitError,
			[]string{"data folder cannot be written", "--data"}},
		"an output folder that is a file": {[]string{"--until-done", "--events", "good.jsonl", "--tariffs", "tarifas.json", "--out", "good.jsonl"}, exitError,
			[]string{"good.jsonl", "--out"}},
		"another number of partitions": {[]string{"--until-done", "--events", "good.jsonl", "--tariffs", "tarifas.json", "--data", "kept", "--partitions", "3"}, exitError,
			[]string{"2 partitions and 3 are asked for"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for path, text := range map[string]string{
				"good.jsonl": event, "bad.jsonl": event + "{\n", "topic.jsonl": strings.Replace(event, "corridas.eventos", "corridas.telemetry", 1),
				"tarifas.json": openTariff,
			} {
				if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Mkdir("folder", 0o700); err != nil {
				t.Fatal(err)
			}
			free := []string{"dev", "--kafka-port", "0", "--registry-port", "0", "--admin-port", "0"}
			if strings.Contains(strings.Join(c.args, " "), "--data kept") {
				kept := append(free, "--until-done", "--events", "good.jsonl", "--tariffs", "tarifas.json", "--data", "kept", "--partitions", "2")
				if code, said := runDev(t, kept); code != exitOK {
					t.Fatal(said)
				}
			}
			code, said := runDev(t, append(free, c.args...))
			if code != c.code || !strings.HasPrefix(said, "taximeter: ") || strings.Contains(said, "goroutine ") {
				t.Errorf("exit %d, want %d:\n%s", code, c.code, said)
			}
			for _, w := range c.want {
				if !strings.Contains(said, w) {
					t.Errorf("not told %q:\n%s", w, said)
				}
			}
			for _, name := range []string{"bills.jsonl", "verdicts.json"} {
				if found, err := filepath.Glob(filepath.Join("*", name)); err != nil || len(found) > 0 {
					t.Errorf("left behind: %v, %v", found, err)
				}
			}
		})
	}
}

func runDev(t *testing.T, args []string) (code int, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	code = run(ctx, args, &out, &errs)
	return code, errs.String()
}
