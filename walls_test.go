// The walls of the house, as a test: which folder may import what, each with its reason.
// It reads the source as it lies there, so it is run with -count=1.
package taximeter_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// pure packages decide what the meter computes. They may import each other and the standard
// library's values and algorithms; the world reaches them only as arguments.
var pure = []string{
	"schemas", "actors/window", "actors/geo", "actors/tariff", "actors/rule", "actors/trip",
	"actors/partition", "checkpoint", "sinks", "cluster",
}

// pureRefuses is what a pure package must not import; a prefix counts with all below it.
var pureRefuses = []wall{
	{imports: "os", why: "files and the environment belong to adapters: a step must give the same result in a replay"},
	{imports: "net", why: "no network inside a step: it could neither be replayed nor simulated"},
	{imports: "sync", why: "one goroutine owns each piece of state; who needs a lock has two owners"},
	{imports: "log", why: "outcomes are values; the shell around decides what is told"},
	{imports: "math/rand", why: "randomness is an argument, or two runs differ"},
	{imports: "crypto/rand", why: "randomness is an argument, or two runs differ"},
	{imports: "syscall", why: "the operating system belongs to adapters"},
	{imports: "unsafe", why: "the meter's arithmetic must be readable and portable"},
}

// clock is what of package time tells or waits for the wall clock.
var clock = []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTicker", "NewTimer"}

// wall says that only some folders, with all below them, may import something.
type wall struct {
	imports string   // import path, with all below it
	only    []string // folders
	why     string
}

var walls = []wall{
	{"github.com/asynkron/protoactor-go", []string{"actors/host", "actors/coordinator", "cluster/node", "bench/scale" /* measures the host */}, "the actor library is a shell around pure state machines and must stay replaceable"},
	{"github.com/hashicorp/memberlist", []string{"cluster/gossip"}, "gossip proposes a view, it decides nothing"},
	{"github.com/cockroachdb/pebble", []string{"checkpoint/pebblestore", "cluster/node/embedded" /* its file lock */}, "state is reached through the checkpoint.Store port, or a crash test cannot stand in for it"},
	{"github.com/twmb/franz-go", []string{"actors/ingest", "sinks/kafkaout", "sinks/iceberg" /* reads again what was consumed */, "sinks/webhook" /* a group of its own, on results only */, "schemas/registry", "cluster/node", "internal/access" /* makes the options of all others */, "internal/topics" /* makes topics */, "cmd", "bench"}, "a second place that reads or writes Kafka is a second place that moves offsets"},
	{"github.com/hamba/avro", []string{"schemas/codec", "schemas/registry"}, "the library takes truncated bytes and is no longer maintained: its faults are guarded in one place"},
	{"github.com/twmb/avro", []string{"schemas/codec", "schemas/registry"}, "Avro types in other signatures would tie the meter to one library"},
	{"cel.dev", []string{"actors/expression"}, "alert rules know expressions only as a function of the trip's features"},
	{"github.com/google/cel-go", []string{"actors/expression"}, "alert rules know expressions only as a function of the trip's features"},
	{"github.com/aws", []string{"checkpoint/objectstore"}, "object storage is five calls behind a port; a folder must do as well"},
	{"github.com/apache/iceberg-go", []string{"sinks/iceberg"}, "one destination, one folder"},
	{"github.com/apache/arrow-go", []string{"sinks/iceberg"}, "arrow types stay where Parquet is written"},
	{"github.com/jackc/pgx", []string{"sinks/analytics", "sinks/iceberg"}, "databases are reached from the sink that owns their tables"},
	{"github.com/ClickHouse", []string{"sinks/analytics"}, "databases are reached from the sink that owns their tables"},
	{"modernc.org/sqlite", []string{"sinks/analytics", "sinks/iceberg"}, "databases are reached from the sink that owns their tables"},
	{"github.com/spf13/cobra", []string{"cmd"}, "the command line is the outermost shell"},
	{module + "/cmd", []string{"cmd"}, "nothing may depend on a command"},
}

const module = "taximeter"

// testLibraries may be imported by tests and by what only tests import.
var testLibraries = []string{"testing", "pgregory.net/rapid", "github.com/cockroachdb/datadriven"}

// forTests reports whether only tests import a folder of ours: the acceptance suites that
// several adapters pass, named like httptest, and the finder of the reference recordings.
func forTests(dir string) bool {
	return dir == "internal/shared" || strings.HasSuffix(dir, "test")
}

func TestWallsStand(t *testing.T) {
	seen := map[string]bool{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && file != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go"):
			return nil
		}
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		dir := path.Dir(filepath.ToSlash(file))
		seen[dir] = true
		for _, fault := range faults(dir, fset, tree) {
			t.Error(fault)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !seen["schemas"] || !seen["actors/window"] {
		t.Fatalf("read only %d folders: the walk went wrong", len(seen))
	}
}

// faults are the walls that a file of the folder dir breaks.
func faults(dir string, fset *token.FileSet, file *ast.File) (found []string) {
	complain := func(at ast.Node, does, why string) {
		found = append(found, fmt.Sprintf("%s: %s %s: %s", fset.Position(at.Pos()), dir, does, why))
	}
	isPure := slices.Contains(pure, dir)
	for _, spec := range file.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			complain(spec, "imports "+spec.Path.Value, err.Error())
			continue
		}
		for _, w := range walls {
			allowed := slices.ContainsFunc(w.only, func(folder string) bool { return within(dir, folder) })
			if within(imported, w.imports) && !allowed {
				complain(spec, "imports "+imported, w.why)
			}
		}
		ours, isOurs := strings.CutPrefix(imported, module+"/")
		library := slices.ContainsFunc(testLibraries, func(l string) bool { return within(imported, l) })
		if !forTests(dir) && (library || isOurs && forTests(ours)) {
			complain(spec, "imports "+imported, "it is for tests, and the product ships without it")
		}
		if !isPure {
			continue
		}
		for _, w := range pureRefuses {
			if within(imported, w.imports) {
				complain(spec, "is pure and imports "+imported, w.why)
			}
		}
		switch {
		case isOurs && !slices.Contains(pure, ours):
			complain(spec, "is pure and imports "+imported, "an adapter brings its third parties and the world along")
		case !isOurs && strings.Contains(strings.Split(imported, "/")[0], "."):
			complain(spec, "is pure and imports "+imported, "what the meter computes must not change with somebody else's release")
		}
	}
	if isPure {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				complain(n, "is pure and starts a goroutine", "the order of events is the owner's to decide, or a replay decides differently")
			case *ast.SelectorExpr:
				if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "time" && slices.Contains(clock, n.Sel.Name) {
					complain(n, "is pure and uses time."+n.Sel.Name, "time is an argument, or a replay decides differently")
				}
			}
			return true
		})
	}
	return found
}

func within(name, parent string) bool {
	return name == parent || strings.HasPrefix(name, parent+"/")
}

func TestWallsNoticeABreach(t *testing.T) {
	for _, c := range []struct {
		dir, source string
		broken      int
	}{
		{"actors/trip", `import ("math"; "time"; "taximeter/schemas"; "taximeter/actors/window"); var _ = time.UnixMilli`, 0},
		{"actors/trip", `import "os"`, 1},
		{"actors/trip", `import "sync/atomic"`, 1},
		{"actors/trip", `import "log/slog"`, 1},
		{"actors/trip", `import "math/rand/v2"`, 1},
		{"actors/trip", `import "net/netip"`, 1},
		{"actors/trip", `import "github.com/google/uuid"`, 1},
		{"actors/trip", `import "taximeter/schemas/codec"`, 1},
		{"actors/trip", `import "time"; var _ = time.Now()`, 1},
		{"actors/trip", `func f() { go f() }`, 1},
		{"actors/trip", `import "pgregory.net/rapid"`, 2},
		{"schemas/codec", `import ("os"; "github.com/hamba/avro/v2"; "time"); func f() { go f(); time.Now() }`, 0},
		{"schemas/edge", `import "github.com/hamba/avro/v2"`, 1},
		{"cluster/node/embedded", `import "github.com/twmb/franz-go/pkg/kfake"`, 0},
		{"cluster/gossip", `import "github.com/twmb/franz-go/pkg/kgo"`, 1},
		{"checkpoint", `import "github.com/cockroachdb/pebble/v2"`, 2},
		{"checkpoint/objectstore", `import "taximeter/internal/shared"`, 1},
		{"checkpoint/storetest", `import ("testing"; "taximeter/internal/shared")`, 0},
		{"checkpoint/pebblestore", `import "taximeter/checkpoint/storetest"`, 1},
		{"cluster/node", `import "taximeter/cmd/internal/city"`, 1},
	} {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "x.go", "package x; "+c.source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if got := faults(c.dir, fset, file); len(got) != c.broken {
			t.Errorf("%s: %s\nbreaks %d walls, want %d: %q", c.dir, c.source, len(got), c.broken, got)
		}
	}
}
