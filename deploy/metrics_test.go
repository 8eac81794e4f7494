package deploy_test

import (
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"taximeter/actors/trip"
	"taximeter/cluster/admin"
	"taximeter/schemas"
)

// everything is a node of which there is something to tell in every metric.
type everything struct{}

func (everything) Partitions() []admin.PartitionStatus {
	p := admin.PartitionStatus{Verdicts: map[string]int64{}, Anomalies: map[string]int64{}}
	for v := range schemas.NumVerdicts {
		p.Verdicts[v.String()] = 1
	}
	for k := range schemas.NumAnomalies {
		p.Anomalies[k.String()] = 1
	}
	for t := range schemas.Inputs {
		p.Stopped[t], p.Missing[t], p.Skipped[t] = "fora_do_intervalo", 1, 1
	}
	return []admin.PartitionStatus{p}
}

func (everything) Checkpoints(context.Context, int) (admin.CheckpointStatus, error) {
	return admin.CheckpointStatus{Sinks: []admin.SinkStatus{{Name: "lake", Error: "down"}}}, nil
}
func (everything) Ready() error { return nil }
func (everything) Drain() error { return nil }
func (everything) Cluster() admin.ClusterStatus {
	return admin.ClusterStatus{Copies: admin.Copies{Behind: map[schemas.Partition]float64{0: 1}}}
}
func (everything) Trip(context.Context, schemas.TripID) (admin.TripAnswer, error) {
	return admin.TripAnswer{}, admin.ErrNoTrip
}
func (everything) Explain(context.Context, schemas.TripID) (trip.Explanation, error) {
	return trip.Explanation{}, admin.ErrNoTrip
}

// scraped are the metrics of a node: their names, and every value of every label.
func scraped(t *testing.T) (names map[string]bool, labels map[string][]string) {
	t.Helper()
	r := prometheus.NewRegistry()
	r.MustRegister(admin.NewCollector(everything{}), admin.NewInputWaits(), collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	names, labels = map[string]bool{}, map[string][]string{}
	for _, f := range families {
		names[f.GetName()] = true
		if f.GetType().String() == "HISTOGRAM" {
			names[f.GetName()+"_bucket"] = true
		}
		for _, m := range f.GetMetric() {
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = append(labels[l.GetName()], l.GetValue())
			}
		}
	}
	return names, labels
}

type rulesFile struct {
	Groups []struct {
		Rules []struct {
			Record, Alert, Expr string
			Labels, Annotations map[string]string
		}
	}
}

// expressions are the PromQL texts of rules and dashboard by where they are, and what the
// rules record.
func expressions(t *testing.T) (exprs map[string]string, recorded map[string]bool) {
	t.Helper()
	exprs, recorded = map[string]string{}, map[string]bool{}
	var rules rulesFile
	readYAML(t, "prometheus/rules.yaml", &rules)
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			exprs["rule "+r.Record+r.Alert] = r.Expr
			recorded[r.Record] = true
		}
	}
	var board struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal([]byte(read(t, "grafana/taximeter.json")), &board); err != nil {
		t.Fatal(err)
	}
	for _, p := range board.Panels {
		for _, target := range p.Targets {
			exprs["panel "+p.Title] += target.Expr + "\n"
		}
	}
	if len(exprs) < 25 {
		t.Fatalf("only %d expressions found: the search went wrong", len(exprs))
	}
	return exprs, recorded
}

func TestMetricsExist(t *testing.T) {
	names, values := scraped(t)
	exprs, recorded := expressions(t)
	metric := regexp.MustCompile(`\b(?:taximeter|process|go)[_:][a-z0-9_:]+`)
	matcher := regexp.MustCompile(`\b(verdict|kind|topic|reason)=~?"([^"]+)"`)
	for place, expr := range exprs {
		for _, name := range metric.FindAllString(expr, -1) {
			if !names[name] && !recorded[name] {
				t.Errorf("%s: there is no metric %s", place, name)
			}
		}
		for _, m := range matcher.FindAllStringSubmatch(expr, -1) {
			for _, value := range strings.Split(m[2], "|") {
				if !slices.ContainsFunc(values[m[1]], regexp.MustCompile("^(?:"+value+")$").MatchString) {
					t.Errorf("%s: no %s is ever %q", place, m[1], value)
				}
			}
		}
	}
}

// Every metric that can go wrong is looked at by a rule; these need none.
func TestRulesLookAtEveryMetric(t *testing.T) {
	unwatched := map[string]bool{
		"taximeter_checkpoint_number":     true, // its age says more
		"taximeter_control_offsets_total": true, // part of an identity
		"taximeter_missing_records":       true, // of an input that is known to have stopped
		"taximeter_skipped_offsets":       true, // an operator's own doing
		"taximeter_standby_bytes":         true, // bounded by cluster.standbyMaxMB
		"taximeter_revoked_runs_total":    true, // moves and take-overs, which other rules show by their effect
	}
	names, _ := scraped(t)
	exprs, _ := expressions(t)
	all := strings.Join(slices.Collect(maps.Values(exprs)), "\n")
	for name := range names {
		if strings.HasPrefix(name, "taximeter_") && !unwatched[name] && !strings.Contains(all, name) {
			t.Errorf("no rule and no panel looks at %s", name)
		}
	}
}

// Whoever is woken must find what to do.
func TestRunbooksExist(t *testing.T) {
	anchors := map[string]bool{}
	for _, line := range strings.Split(read(t, "../docs/operations.md"), "\n") {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			slug := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(title), "")
			anchors["docs/operations.md#"+strings.ReplaceAll(slug, " ", "-")] = true
		}
	}
	var rules rulesFile
	readYAML(t, "prometheus/rules.yaml", &rules)
	for _, g := range rules.Groups {
		for _, r := range g.Rules {
			switch {
			case r.Alert == "":
			case r.Annotations["summary"] == "" || !anchors[r.Annotations["runbook"]]:
				t.Errorf("%s: the runbook %q is not a heading of docs/operations.md, or there is no summary", r.Alert, r.Annotations["runbook"])
			case r.Labels["severity"] != "critical" && r.Labels["severity"] != "warning":
				t.Errorf("%s: severity %q", r.Alert, r.Labels["severity"])
			}
		}
	}
}
