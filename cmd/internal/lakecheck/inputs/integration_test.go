//go:build integration

package inputs

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"taximeter/cmd/internal/lakecheck"
	"taximeter/internal/serverstest"
	"taximeter/internal/shared"
	"taximeter/schemas"
)

// python is the interpreter that has the readers.
func python(t *testing.T) string {
	t.Helper()
	return serverstest.Setting(t, "TAXIMETER_READERS")
}

func passing(t *testing.T, in Input) lakecheck.Case {
	t.Helper()
	c, err := Run(t.Context(), in, filepath.Join(t.TempDir(), in.Name), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func check(t *testing.T, cases ...lakecheck.Case) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := lakecheck.Check(t.Context(), python(t), t.TempDir(), cases, &out)
	return out.String(), err
}

// Readers that are not ours find in lake and tables exactly what simulate says.
func TestIndependentReadersAgree(t *testing.T) {
	for name, input := range map[string]func(*testing.T) Input{
		"generated": func(*testing.T) Input { return Generated(2, 100_000) },
		"porto": func(t *testing.T) Input {
			return Porto(filepath.Dir(filepath.Dir(shared.Path(t, "data/porto_points.csv.gz"))))
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := check(t, passing(t, input(t)))
			if err != nil || !strings.Contains(out, "\nlake-check: cases=1 ") || !strings.HasSuffix(out, " differences=0\n") {
				t.Errorf("%v\n%s", err, out)
			}
			t.Log(out)
		})
	}
}

// Whatever is changed, the check finds it and says where.
func TestTheCheckFindsWhatDiffers(t *testing.T) {
	c := passing(t, Generated(3, 30_000))
	gone := c
	gone.Name, gone.Lake = "gone", t.TempDir()
	edit(t, c.Events, `"latitude":-`, `"latitude":-1`)
	edit(t, c.Expected+"/bills.jsonl", `"valor":"`, `"valor":"1`)
	edit(t, c.Expected+"/windows.jsonl", `"distanciaMM":`, `"distanciaMM":1`)
	edit(t, c.Expected+"/verdicts.json", `      "duplicado": `, `      "duplicado": 1`)
	edit(t, c.Expected+"/dlq.jsonl", `"topic":"corridas.telemetria"`, `"topic":"corridas.eventos"`)
	edit(t, c.Published+"/windows.jsonl", `"versao":1`, `"versao":9`)
	edit(t, c.Published+"/bills.jsonl", `{`, ``)
	change(t, c.Analytics, "DELETE FROM viagens WHERE trip_id = (SELECT MIN(trip_id) FROM viagens)")
	change(t, c.Analytics, "UPDATE viagens SET valor_centavos = valor_centavos + 1 WHERE trip_id = (SELECT MAX(trip_id) FROM viagens WHERE fatura_versao > 0)")
	change(t, c.Analytics, "UPDATE viagens SET conciliacao = 'pendente' WHERE trip_id = (SELECT MIN(trip_id) FROM viagens WHERE conciliacao = 'nao_paga')")
	change(t, c.Analytics, "UPDATE janelas SET pontos = pontos + 1 WHERE trip_id = (SELECT MAX(trip_id) FROM janelas)")
	c.Ends[schemas.TopicRides][0]++
	out, err := check(t, c, gone)
	if !errors.Is(err, lakecheck.ErrDiffers) || strings.Contains(out, "differences=0\n") {
		t.Errorf("%v", err)
	}
	for _, where := range []string{"telemetria: ", "eventos: ", "faturas and simulate: ", "janelas and simulate: ", "vereditos of partition ", "janelas_versoes: ",
		"faturas_versoes: ", "viagens: ", "conciliacao: ", "janelas of the dashboard: ", "frota_minuto: cents: ", "end of the topic: ", "gone: cannot be checked: "} {
		if !strings.Contains(out, "  "+where) && !strings.Contains(out, " 0: "+where) {
			t.Errorf("nothing is said of %s", where)
		}
	}
	if t.Failed() {
		t.Log(out)
	}
}

// edit changes the first line of a file that has old; new == "" drops the line.
func edit(t *testing.T, path, old, new string) {
	t.Helper()
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(before), "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, old) })
	if at < 0 {
		t.Fatalf("no line of %s has %q", path, old)
	}
	if lines[at] = strings.Replace(lines[at], old, new, 1); new == "" {
		lines[at] = ""
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "")), 0o600); err != nil {
		t.Fatal(err)
	}
}

// change runs a statement on a SQLite file.
func change(t *testing.T, file, statement string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), python(t), "-c", "import sqlite3, sys\nsqlite3.connect(sys.argv[1]).executescript(sys.argv[2])", file, statement)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}
