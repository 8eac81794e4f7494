package analytics_test

import (
	"bufio"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/exec"
	"testing"

	"taximeter/sinks/analytics"
)

// followVariable names the database that the test binary, started anew, shall feed.
const followVariable = "TAXIMETER_TEST_FOLLOW"

const killTip = 300

// TestFollower is the process that testKilled kills. It prints a line after each commit.
func TestFollower(t *testing.T) {
	url := os.Getenv(followVariable)
	if url == "" {
		t.Skip("only testKilled starts it")
	}
	db, err := analytics.Open(t.Context(), url, namespace, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for {
		p, err := db.Progress(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if p.Made == killTip {
			return
		}
		to := at(min(p.Made+3, killTip))
		if err := db.Commit(t.Context(), p, to, chain(p.Made, to.Made)); err != nil {
			t.Fatal(err)
		}
		fmt.Println(to.Made) //nolint:forbidigo // to the parent
	}
}

// testKilled kills a committing process again and again, while it commits or just after.
func testKilled(t *testing.T, d database) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	url := d.fresh(t)
	db := open(t, url)
	r := rand.New(rand.NewPCG(3, 9))
	kills := 0
	for range 6 {
		child := exec.CommandContext(t.Context(), self, "-test.run=^TestFollower$")
		child.Env = append(os.Environ(), followVariable+"="+url)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		for range 3 + r.IntN(12) {
			lines.Scan()
		}
		if err := child.Process.Kill(); err == nil {
			kills++
		}
		_ = child.Wait() // it was killed
		if !d.rowsFirst {
			wantWhole(t, db)
		}
	}
	p, err := db.Progress(t.Context())
	if err != nil || kills == 0 || p.Made == 0 || p.Made == killTip {
		t.Fatalf("%d kills left the tables at %+v, %v: none was in the middle", kills, p, err)
	}
	if _, err := follow(t.Context(), db, killTip, 7, nil); err != nil {
		t.Fatal(err)
	}
	wantChain(t, db, killTip)
}

// wantWhole checks that the rows are those of the progress, neither fewer nor more.
func wantWhole(t *testing.T, db *analytics.DB) {
	t.Helper()
	for {
		before, err := db.Progress(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		rows := trips(t, db)
		after, err := db.Progress(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if before == after { // a server may finish the commit of a dead client
			wantRows(t, "viagens", rows, newestOf(chain(0, before.Made)))
			return
		}
	}
}
