package ingest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
)

// lanes makes a task whose three topics hold the records of a script and no more: their
// append times, with c before it a control record and with b a bill of our own.
func lanes(t *testing.T, scripts ...string) (*Source, *task) {
	t.Helper()
	s := &Source{o: Options{Decoder: newDecoderFake(), Registry: &registryFake{}, Namespace: "ns", AppendTimes: AppendTimesFromRecords}.withDefaults()}
	task := newTask(s, 0, [schemas.NumInputs]schemas.Offset{}, nil)
	for i, script := range scripts {
		l := task.lanes[i]
		for offset, word := range strings.Fields(script) {
			var ms int64
			if _, err := fmt.Sscan(strings.TrimLeft(word, "cb"), &ms); err != nil {
				t.Fatal(err)
			}
			r := at(ms, record(l.topic, 0, word))
			r.Offset = int64(offset)
			switch word[0] {
			case 'c':
				r.Attrs = kgo.NewRecordAttrs(kgo.RecordAttrsOpts{Control: true})
			case 'b':
				r.Headers = []kgo.RecordHeader{{Key: schemas.HeaderNamespace, Value: []byte("ns")}}
			}
			l.push([]*kgo.Record{r})
		}
		l.end = l.fetched
	}
	return s, task
}

func TestRecordsComeInTheOrderOfTheirAppendTimes(t *testing.T) {
	for _, c := range []struct{ telemetry, rides, payments, want string }{
		{"1 4 6", "2 3", "5", "t1 r2 r3 t4 p5 t6"},
		{"1 1 2", "1 2 2", "1", "t1 t1 r1 p1 t2 r2 r2"},        // the order of topics decides, always the same
		{"1 9 2 3", "4 5", "", "t1 r4 r5 t9 t2 t3"},            // a clock went back: a topic keeps its own order
		{"-9 -5", "-8 -6", "-7 -1", "t-9 r-8 p-7 r-6 t-5 p-1"}, // files without append times
		{"-9 -5", "-8", "-7 b100 c100 -6 c101", "t-9 r-8 p-7 pb100 p-6 t-5"},
		{"1 2", "c9 c9 1", "", "t1 r1 t2"}, // a marker holds nothing back
		{"", "", "c1 c2", ""},
	} {
		s, task := lanes(t, c.telemetry, c.rides, c.payments)
		b := task.free[0]
		moved := s.fill(b, task, time.Now())
		var got []string
		for _, r := range b.all() {
			got = append(got, "trp"[r.Topic:][:1]+string(r.EventID))
			if r.EventID[0] == '-' && r.AppendedAt != schemas.NoTime {
				t.Errorf("%s has append time %d", r.EventID, r.AppendedAt)
			}
		}
		if strings.Join(got, " ") != c.want || !moved {
			t.Errorf("telemetry %s, rides %s, payments %s\ncame as %s\nwant    %s", c.telemetry, c.rides, c.payments, got, c.want)
		}
		for _, l := range task.lanes {
			if b.Next[l.topic] != l.fetched || s.fill(b, task, time.Now()) {
				t.Errorf("%s: next is %d of %d", l.topic, b.Next[l.topic], l.fetched)
			}
		}
	}
}

func TestWhichLaneIsWaitedFor(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name   string
		change func(*lane)
		waited bool
	}{
		{"its end is not known", func(l *lane) { l.end = -1 }, true},
		{"more is in the log", func(l *lane) { l.end = l.fetched + 1 }, true},
		{"more is in the log and the fetch is to be tried again", func(l *lane) { l.end, l.stopped, l.retried = 9, broken, true }, true},
		{"read to its end", func(*lane) {}, false},
		{"past the end that was known", func(l *lane) { l.end = l.fetched - 1 }, false},
		{"held by its owner", func(l *lane) { l.end, l.held = 9, true }, false},
		{"stopped for good", func(l *lane) { l.end, l.stopped = 9, broken }, false},
		{"stopped for good, its end not known", func(l *lane) { l.end, l.stopped = -1, broken }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, task := lanes(t, "5", "", "")
			rides, now := task.lanes[schemas.Rides], time.Now()
			rides.push([]*kgo.Record{at(1, record(schemas.Rides, 0, "a"))})
			rides.pop()
			rides.end = rides.fetched
			c.change(rides)
			if waited := task.first(now) == nil; waited != c.waited {
				t.Errorf("waited %v", waited)
			}
			if waited := task.first(now.Add(patience-1)) == nil; waited != c.waited {
				t.Errorf("waited %v until patience ends", waited)
			}
			if task.first(now.Add(patience)) == nil {
				t.Error("waited longer")
			}
			rides.held, rides.stopped = false, nil
			rides.push([]*kgo.Record{at(2, record(schemas.Rides, 0, "b")), at(9, record(schemas.Rides, 0, "c"))})
			if task.first(now.Add(patience)) != rides {
				t.Error("not merged again")
			}
		})
	}
}

// What was fetched before a fault still has its place.
func TestAStoppedLaneGivesWhatItHas(t *testing.T) {
	_, task := lanes(t, "5", "3", "")
	rides := task.lanes[schemas.Rides]
	rides.stopped, rides.end = errors.New("broken"), 9
	if task.first(time.Now()) != rides {
		t.Error("jumped over")
	}
	rides.pop()
	if task.first(time.Now()) != task.lanes[schemas.Telemetry] {
		t.Error("waited for")
	}
}

func TestEachLaneHasItsOwnPatience(t *testing.T) {
	_, task := lanes(t, "5", "", "")
	telemetry, rides, payments, now := task.lanes[0], task.lanes[1], task.lanes[2], time.Now()
	rides.end = 10
	if task.first(now) != nil || task.first(now.Add(patience)) != telemetry {
		t.Fatal("rides has another patience")
	}
	payments.end = 10 // told later
	if now = now.Add(patience); task.first(now) != nil || task.first(now.Add(patience-1)) != nil || task.first(now.Add(patience)) != telemetry {
		t.Error("payments has another patience")
	}
	rides.push([]*kgo.Record{at(1, record(schemas.Rides, 0, "a"))})
	if now = now.Add(patience); task.first(now) != rides {
		t.Error("not merged again")
	}
	rides.pop()
	if task.first(now) != nil || task.first(now.Add(patience)) != telemetry {
		t.Error("not waited for anew")
	}
}

// A question to the registry that takes milliseconds must not let the other topics run
// ahead; one that fails may fail for hours.
func TestALaneThatAsksForASchemaIsWaitedForUntilTheRegistryFails(t *testing.T) {
	_, task := lanes(t, "5", "3", "")
	rides, now := task.lanes[schemas.Rides], time.Now()
	rides.waiting = true
	if task.first(now) != nil || task.first(now.Add(patience)) == nil {
		t.Error("not waited for, or too long")
	}
	rides.missing = time.Time{}
	rides.why = errors.New("connection refused")
	if task.first(now) != task.lanes[schemas.Telemetry] {
		t.Error("waited for a registry that failed")
	}
}

// While a source is held nothing is fetched: who is missing then has not been waited for.
func TestAfterAHoldTheOthersAreWaitedForAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, held := lanes(t, "", "5 6 7", "")
		held.lanes[schemas.Telemetry].end = 9 // more is in the log
		delivered := 0
		held.deliver = func(b *Batch) { delivered += b.records }
		s.tasks = map[schemas.Partition]*task{0: held}
		s.ctx, s.commands = t.Context(), make(chan func())
		go func() {
			for command := range s.commands {
				command()
			}
		}()
		s.serveAll()
		s.Hold()
		<-time.After(2 * patience)
		s.Resume()
		if delivered != 0 {
			t.Errorf("%d rides went on without telemetry", delivered)
		}
		close(s.commands)
	})
}
