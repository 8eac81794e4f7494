package chaos

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"taximeter/cmd/internal/chaos/inject"
	"taximeter/cmd/internal/lakecheck"
	"taximeter/cmd/internal/published"
	"taximeter/cmd/internal/simulation"
)

// drawTables gives the scenario a lake, and lets two crashes of three hit a commit to it. The
// rest of the seed's plan stays as it is.
func (s *Scenario) drawTables() {
	s.Tables = true
	rng := rand.New(rand.NewPCG(s.Seed, 0x6c616b65))
	for i := range s.Lives {
		l := &s.Lives[i]
		if l.End != Crashed || rng.IntN(3) == 0 {
			continue
		}
		l.After = lakeLife
		switch n := rng.IntN(10); {
		case n < 7:
			l.Plan.Crash, l.Plan.Nth = inject.LakeTable, 1+n
		case n < 9:
			l.Plan.Crash, l.Plan.Nth = inject.LakeVerdicts, 1
		default:
			l.Plan.Crash, l.Plan.Nth = inject.LakeAfter, 1
		}
	}
}

// lakeLife is how long a life waits for a point of the lake: its first commit comes some
// checkpoints after the start.
const lakeLife = 4 * time.Second

func (r *run) lakeDir() string   { return filepath.Join(r.dir, "lake") }
func (r *run) analytics() string { return filepath.Join(r.dir, "analytics.db") }

// dashboard is where the readers find the analytical tables.
func (r *run) dashboard() string {
	if r.database != nil {
		return r.database.direct()
	}
	return r.analytics()
}

// tables configures a node's. With a real S3 the warehouse is there, behind the same proxy as
// the checkpoints.
func (r *run) tables() map[string]string {
	env := map[string]string{"LAKE_CATALOG": "sqlite:" + filepath.Join(r.lakeDir(), "catalog.db"), "ANALYTICS_URL": "sqlite:" + r.analytics()}
	if r.database != nil {
		env["ANALYTICS_URL"] = r.database.url()
	}
	if r.catalog != nil {
		env["LAKE_CATALOG"] = r.catalog.url()
	}
	if r.o.Real == nil {
		env["LAKE_WAREHOUSE_FOLDER"] = r.lakeDir()
		return env
	}
	for name, value := range r.o.Real.store(r.objects.address(), r.prefix()+"lake/") {
		env["LAKE_WAREHOUSE_"+strings.TrimPrefix(name, "STORE_")] = value
	}
	return env
}

// checkTables has independent readers compare the tables with what was published and what
// simulate says.
func (r *run) checkTables(ctx context.Context, got *published.Results, ends kadm.ListedOffsets, res *Result) error {
	c := lakecheck.Case{Name: "tables", Events: r.material.file, Partitions: r.s.Partitions, Lake: r.lakeDir(), Database: "taximeter",
		Analytics: r.dashboard(), Expected: filepath.Join(r.dir, "expected"), Published: filepath.Join(r.dir, "published"), Resent: r.material.resent}
	if err := c.SetEnds(ends); err != nil {
		return err
	}
	if r.catalog != nil {
		c.Catalog = r.catalog.direct()
	}
	if s3 := r.o.Real; s3 != nil {
		c.S3 = &lakecheck.S3{Endpoint: s3.S3Endpoint, Region: s3.S3Region, AccessKey: s3.AccessKey, SecretKey: s3.SecretKey}
	}
	err := errors.Join(os.MkdirAll(c.Published, 0o755), write(c.Published, simulation.BillsFile, got.Bills), write(c.Published, simulation.WindowsFile, got.Windows))
	if err != nil {
		return err
	}
	var said bytes.Buffer
	err = lakecheck.Check(ctx, r.o.Readers, r.dir, []lakecheck.Case{c}, &said)
	if err != nil && !errors.Is(err, lakecheck.ErrDiffers) {
		return fmt.Errorf("%w: %s", err, said.String())
	}
	before := res.Differing
	for line := range strings.Lines(said.String()) {
		if finding, ok := strings.CutPrefix(line, "  "); ok {
			res.find(&res.Differing, "%s", strings.TrimSpace(finding))
		}
	}
	if err != nil && res.Differing == before {
		return fmt.Errorf("%w, and do not say in what: %s", err, said.String())
	}
	return nil
}

// write encodes values as a file of JSON lines.
func write[T any](dir, name string, all []T) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	for i := range all {
		if err := e.Encode(&all[i]); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(dir, name), text.Bytes(), 0o600)
}
