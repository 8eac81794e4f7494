package reconcile

import (
	"context"
	"iter"
	"strings"
	"testing"

	"taximeter/checkpoint"
	"taximeter/schemas"
	"taximeter/sinks"
	"taximeter/sinks/analytics"
	"taximeter/sinks/iceberg"
)

type table struct {
	made      checkpoint.Number
	stretches []iceberg.Stretch
	trips     []analytics.Trip
}

func (t table) Progress(context.Context) (sinks.Progress, error) {
	return sinks.Progress{Made: t.made}, nil
}

func (t table) Stretches(_ context.Context, take func(iceberg.Stretch) error) error {
	for _, s := range t.stretches {
		if err := take(s); err != nil {
			return err
		}
	}
	return nil
}

func (t table) Trips(context.Context) iter.Seq2[analytics.Trip, error] {
	return func(yield func(analytics.Trip, error) bool) {
		for _, x := range t.trips {
			if !yield(x, nil) {
				return
			}
		}
	}
}

// consumed is one partition that has consumed ten offsets of telemetry and two of payments
// by manifest 5.
func consumed() (*running, *Report) {
	p := Partition{Offsets: 12, Records: 11, Control: 1, Next: checkpoint.Offsets{10, 0, 2}}
	p.verdicts[schemas.Counted], p.verdicts[schemas.Duplicate] = 9, 2
	r := &Report{Partitions: []Partition{p}}
	tip := checkpoint.Manifest{Number: 6, Entries: []checkpoint.Entry{{Made: 5, Next: p.Next}}}
	return &running{Options: Options{Tip: tip}, report: r, bills: map[schemas.TripID]billed{"a": {0, 2, 700}, "b": {0, 1, 900}}}, r
}

func row(topic schemas.Topic, made checkpoint.Number, first, next schemas.Offset, counted, duplicate int64) iceberg.Stretch {
	s := iceberg.Stretch{Topic: topic, Made: made, First: first, Next: next}
	s.Counts[schemas.Counted], s.Counts[schemas.Duplicate] = counted, duplicate
	return s
}

func TestTheLakeAgainstTheVerdicts(t *testing.T) {
	whole := []iceberg.Stretch{row(schemas.Telemetry, 3, 0, 6, 6, 0), row(schemas.Telemetry, 5, 6, 10, 2, 2), row(schemas.Payments, 5, 0, 2, 1, 0)}
	lost := row(schemas.Telemetry, 5, 6, 10, 2, 2)
	lost.Lost = 3
	for name, c := range map[string]struct {
		lake    table
		want    []string
		behind  int
		partial int
	}{
		"agrees":           {table{made: 5, stretches: whole}, nil, 0, 0},
		"newer rows":       {table{made: 7, stretches: append(whole[:3:3], row(schemas.Telemetry, 7, 10, 12, 2, 0))}, nil, 0, 0},
		"behind":           {table{made: 4, stretches: whole[:1]}, nil, 1, 0},
		"a gap":            {table{made: 5, stretches: []iceberg.Stretch{row(schemas.Telemetry, 3, 0, 5, 5, 0), whole[1], whole[2]}}, []string{"hold 9 offsets", "contado: 8 records in the lake, 9 consumed"}, 0, 0},
		"twice":            {table{made: 5, stretches: append(whole[:3:3], whole[0])}, []string{"hold 16 offsets", "contado: 15 records"}, 0, 0},
		"ends early":       {table{made: 5, stretches: []iceberg.Stretch{whole[0], whole[2]}}, []string{"ends at offset 6 in the lake, and was consumed up to 10", "contado: 7 records", "duplicado: 0 records"}, 0, 0},
		"other verdicts":   {table{made: 5, stretches: []iceberg.Stretch{whole[0], row(schemas.Telemetry, 5, 6, 10, 3, 1), whole[2]}}, []string{"contado: 10 records in the lake, 9", "duplicado: 1 records in the lake, 2"}, 0, 0},
		"lost":             {table{made: 5, stretches: []iceberg.Stretch{whole[0], lost, whole[2]}}, []string{"3 accepted records are in no table"}, 0, 0},
		"switched on late": {table{made: 5, stretches: []iceberg.Stretch{whole[1], whole[2]}}, nil, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			r, report := consumed()
			r.Lake = c.lake
			if err := r.lake(t.Context()); err != nil {
				t.Fatal(err)
			}
			expect(t, report, c.want)
			if report.Lake.Behind != c.behind || report.Lake.Partial != c.partial {
				t.Errorf("%+v", *report.Lake)
			}
		})
	}
}

func TestTheAnalyticalTableAgainstTheBills(t *testing.T) {
	trip := func(id schemas.TripID, version int, amount schemas.Cents, made checkpoint.Number) analytics.Trip {
		return analytics.Trip{TripSummary: schemas.TripSummary{TripID: id, BillVersion: version, Amount: amount}, Checkpoint: made}
	}
	for name, c := range map[string]struct {
		table table
		want  []string
	}{
		"agrees":        {table{made: 5, trips: []analytics.Trip{trip("a", 2, 700, 5), trip("b", 1, 900, 3), trip("c", 1, 1, 3)}}, nil},
		"another bill":  {table{made: 5, trips: []analytics.Trip{trip("a", 1, 600, 3), trip("b", 1, 900, 3)}}, []string{"viagens has bill version 1 of 6.00; public is version 2 of 7.00"}},
		"a trip lacks":  {table{made: 5, trips: []analytics.Trip{trip("a", 2, 700, 5)}}, []string{"viagens lacks the trip"}},
		"behind":        {table{made: 4, trips: []analytics.Trip{trip("a", 1, 600, 3)}}, nil},
		"ahead already": {table{made: 7, trips: []analytics.Trip{trip("a", 3, 800, 7), trip("b", 1, 900, 3)}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r, report := consumed()
			r.Analytics = c.table
			if err := r.analytics(t.Context()); err != nil {
				t.Fatal(err)
			}
			expect(t, report, c.want)
		})
	}
}

func expect(t *testing.T, r *Report, want []string) {
	t.Helper()
	if len(r.Differences) != len(want) {
		t.Fatalf("%+v, want %q", r.Differences, want)
	}
	for i, w := range want {
		if !strings.Contains(r.Differences[i].Detail, w) {
			t.Errorf("%+v, want %q", r.Differences[i], w)
		}
	}
}
