package simulation

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"taximeter/actors/partition"
	"taximeter/cmd/internal/outfile"
	"taximeter/schemas"
)

// Names of the files in the folder of the results.
const (
	BillsFile       = "bills.jsonl"
	WindowsFile     = "windows.jsonl"
	AlertsFile      = "alerts.jsonl"
	DeadLettersFile = "dlq.jsonl"
	VerdictsFile    = "verdicts.json"
)

// results writes what the partitions decide, in that order, and adds it up.
type results struct {
	bills, windows, alerts, letters, verdicts *sheet
	tally                                     tally
}

// sheet is one file of JSON values.
type sheet struct {
	file *outfile.File
	json *json.Encoder
}

// MakeWay makes the folder of results and removes those of an earlier run: whatever becomes
// of this one, nobody takes them for its own.
func MakeWay(dir string, reads ...string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		if at, ok := errors.AsType[*fs.PathError](err); ok {
			err = at.Err
		}
		return fmt.Errorf("cannot make the folder %s: %w; choose another with --out", dir, err)
	}
	var paths []string
	for _, name := range []string{VerdictsFile, BillsFile, WindowsFile, AlertsFile, DeadLettersFile} { // where the verdicts are, the others are
		paths = append(paths, filepath.Join(dir, name))
	}
	return outfile.MakeWay(reads, paths...)
}

func createResults(dir string) (_ *results, err error) {
	r := &results{tally: newTally()}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.discard())
		}
	}()
	for _, s := range []struct {
		name  string
		sheet **sheet
	}{{BillsFile, &r.bills}, {WindowsFile, &r.windows}, {AlertsFile, &r.alerts}, {DeadLettersFile, &r.letters}, {VerdictsFile, &r.verdicts}} {
		file, err := outfile.Create(filepath.Join(dir, s.name))
		if err != nil {
			return r, err
		}
		*s.sheet = &sheet{file, json.NewEncoder(file)}
		(*s.sheet).json.SetEscapeHTML(false)
	}
	return r, nil
}

// take writes what a partition decided since the last time. value is what the Value of the
// record is that was consumed in between.
func (r *results) take(p *partition.Partition, value valueKind) error {
	out, alerts := p.Drain()
	for i := range out.Bills {
		r.tally.bill(&out.Bills[i])
		if err := r.bills.json.Encode(&out.Bills[i]); err != nil {
			return err
		}
	}
	for i := range out.Windows {
		r.tally.window(&out.Windows[i])
		if err := r.windows.json.Encode(&out.Windows[i]); err != nil {
			return err
		}
	}
	for i := range alerts {
		r.tally.alerts++
		if err := r.alerts.json.Encode(&alerts[i]); err != nil {
			return err
		}
	}
	for i := range out.DeadLetters {
		if err := r.letters.json.Encode(letterOf(&out.DeadLetters[i], value)); err != nil {
			return err
		}
	}
	return nil
}

// Letter is a dead letter as JSON, a line of DeadLettersFile.
type Letter struct {
	Topic      *string           `json:"topic"` // null: not of a record
	Partition  schemas.Partition `json:"partition"`
	Offset     schemas.Offset    `json:"offset"`
	Reason     schemas.Verdict   `json:"reason"`
	Detail     string            `json:"detail"`
	TripID     schemas.TripID    `json:"tripId"`
	EventID    schemas.EventID   `json:"eventId"`
	AppendedAt *schemas.Millis   `json:"appendedAt"`
	Key        *string           `json:"key"`             // null: none was given
	Value      json.RawMessage   `json:"value,omitempty"` // the record, as it stood
	Raw        []byte            `json:"raw,omitempty"`   // base64 of a value that is no record
}

func letterOf(d *schemas.DeadLetter, value valueKind) *Letter {
	l := &Letter{Partition: d.Partition, Offset: d.Offset, Reason: d.Reason, Detail: d.Detail, TripID: d.TripID, EventID: d.EventID}
	if d.Offset >= 0 {
		topic := d.Topic.String()
		l.Topic = &topic
	}
	if d.AppendedAt != schemas.NoTime {
		l.AppendedAt = &d.AppendedAt
	}
	if d.Key != nil {
		key := string(d.Key)
		l.Key = &key
	}
	if value == valueIsRaw {
		l.Raw = d.Value
	} else {
		l.Value = d.Value
	}
	return l
}

// publish gives the files their names; the verdicts come last, so that where they are the
// others are too.
func (r *results) publish(verdicts any) error {
	r.verdicts.json.SetIndent("", "  ")
	if err := r.verdicts.json.Encode(verdicts); err != nil {
		return err
	}
	return outfile.Publish(r.bills.file, r.windows.file, r.alerts.file, r.letters.file, r.verdicts.file)
}

// discard removes what has no name yet: all, or after publish nothing.
func (r *results) discard() (err error) {
	for _, s := range []*sheet{r.bills, r.windows, r.alerts, r.letters, r.verdicts} {
		if s != nil {
			err = errors.Join(err, s.file.Discard())
		}
	}
	return err
}
