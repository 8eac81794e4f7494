package city

import (
	"bytes"
	"slices"
	"testing"

	"taximeter/actors/partition"
	"taximeter/actors/rule"
	"taximeter/schemas"
)

// table is a partition's rows in memory.
type table struct {
	rows  map[string][]byte
	bytes int
}

func (t *table) apply(changes []partition.Change) {
	for _, c := range changes {
		key := string(c.Key)
		if old, ok := t.rows[key]; ok {
			t.bytes -= len(key) + len(old)
			delete(t.rows, key)
		}
		if c.Value != nil {
			t.rows[key] = c.Value
			t.bytes += len(key) + len(c.Value)
		}
	}
}

func (t *table) Get(key []byte) ([]byte, bool, error) {
	b, ok := t.rows[string(key)]
	return b, ok, nil
}

func (t *table) Due(from partition.DueTrip, upTo schemas.Millis, limit int) ([]partition.DueTrip, error) {
	var due []partition.DueTrip
	for k := range t.rows {
		if d, ok := partition.ParseDueKey([]byte(k)); ok && d.Due <= upTo && k >= string(partition.DueKey(from)) {
			due = append(due, d)
		}
	}
	slices.SortFunc(due, func(a, b partition.DueTrip) int { return bytes.Compare(partition.DueKey(a), partition.DueKey(b)) })
	return due[:min(limit, len(due))], nil
}

// Three days of a city: once the first day's trips are beyond the horizon, as much leaves
// the state as comes in. What stays of an old trip is its summary, a few hundred bytes.
func TestStateReachesAPlateau(t *testing.T) {
	const start = 1_767_225_600_000
	cfg := Default(7, start)
	cfg.EventsPerSecond, cfg.Span = 0.4, 72*schemas.Hour
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	store := &table{rows: make(map[string][]byte)}
	p := partition.New(0, partition.Live, partition.DefaultSettings(), &rule.Book{}, partition.Direct{}, store, start)
	for i, tariff := range Tariffs(start) {
		if err := p.PutTariff(schemas.Offset(i), tariff); err != nil {
			t.Fatal(err)
		}
	}
	var next [schemas.NumInputs]schemas.Offset
	var disk, resident []int // at the end of each hour
	seals, seal, tick, hour := int64(0), schemas.Millis(start), schemas.Millis(start), schemas.Millis(start)
	for {
		line, ok := c.Next()
		if !ok || line.AppendedAt > start+72*schemas.Hour {
			break
		}
		now := line.AppendedAt
		r := make([]schemas.Record, 1)
		line.Record(&r[0])
		r[0].Offset = next[line.Topic]
		next[line.Topic]++
		if err := p.Consume(&schemas.Batch{Records: r}, now); err != nil {
			t.Fatal(err)
		}
		if now >= tick {
			tick = now + schemas.Minute
			fresh := partition.SourceStatus{CaughtUp: true, FetchedAt: now}
			if err := p.Tick(now, [schemas.NumInputs]partition.SourceStatus{fresh, fresh, fresh}); err != nil {
				t.Fatal(err)
			}
		}
		if now >= seal {
			seal = now + 10*schemas.Minute
			seals++
			store.apply(p.Seal(seals).Changes)
			p.Committed(seals)
			p.Sweep(1, 1<<30)
		}
		if now >= hour+schemas.Hour {
			hour = now
			disk, resident = append(disk, store.bytes), append(resident, p.Resident())
		}
	}
	if len(disk) < 70 {
		t.Fatalf("%d hours", len(disk))
	}
	const settled = 26 // hours: the longest trip, the horizon, the watermark's delay
	level := func(of []int) int { return slices.Max(of[settled : settled+24]) }
	t.Logf("state at hour 1 %d B, 12 %d B, 26 %d B, 48 %d B, 70 %d B; trips in memory %d, %d, %d", disk[0], disk[11], disk[25], disk[47], disk[69],
		resident[11], resident[25], resident[69])
	if last, most := slices.Max(disk[settled:]), level(disk)*110/100; last > most {
		t.Errorf("state grew to %d bytes, more than a tenth above the %d of the second day", last, level(disk))
	}
	// A dozen trips come and go: their mean tells, not the moment.
	if early, late := mean(resident[settled:settled+20]), mean(resident[len(resident)-20:]); late > 1.25*early {
		t.Errorf("%.1f trips in memory on the third day, %.1f on the second", late, early)
	}
	if disk[23] < 2*disk[5] {
		t.Errorf("the state did not even fill: %d bytes after six hours, %d after a day", disk[5], disk[23])
	}
}

func mean(of []int) float64 {
	sum := 0
	for _, n := range of {
		sum += n
	}
	return float64(sum) / float64(len(of))
}
