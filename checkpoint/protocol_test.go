package checkpoint_test

import (
	"errors"
	"strings"
	"testing"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

func TestTheProtocolOnlyRises(t *testing.T) {
	tip := chainOf(t)
	if tip.Speaks() != checkpoint.Protocol1 {
		t.Fatalf("a chain that does not say speaks %d", tip.Speaks())
	}
	next, err := checkpoint.Assign(tip, limits, by("x"), checkpoint.Speak{Protocol: checkpoint.Protocol2})
	must(t, err)
	for _, p := range []checkpoint.Protocol{0, checkpoint.Protocol1, checkpoint.Protocol2, checkpoint.NewestProtocol + 1} {
		if _, err := checkpoint.Assign(next, limits, by("x"), checkpoint.Speak{Protocol: p}); !errors.Is(err, checkpoint.ErrRefused) {
			t.Errorf("%d after 2: %v", p, err)
		}
	}
	// What follows keeps it.
	later, err := checkpoint.Assign(next, limits, by("x"), checkpoint.Join{Node: "new"})
	if err != nil || later.Speaks() != checkpoint.Protocol2 {
		t.Errorf("an assignment speaks %d, %v", later.Speaks(), err)
	}
	if cp, _ := checkpoint.NextCheckpoint(later, nil, nil, limits, by("x")); cp.Speaks() != checkpoint.Protocol2 {
		t.Errorf("a checkpoint speaks %d", cp.Speaks())
	}
}

func TestALaterProtocolSaysUpgrade(t *testing.T) {
	m := richManifest(t)
	m.Protocol = checkpoint.NewestProtocol + 1
	data, err := checkpoint.EncodeManifest(m)
	must(t, err)
	_, err = checkpoint.DecodeManifest(ns.Manifest(m.Number), data)
	var e *checkpoint.NewerProtocolError
	if !errors.As(err, &e) || e.Want != m.Protocol || !strings.Contains(err.Error(), "upgrade this node") {
		t.Errorf("got %v", err)
	}
}

// Under the first protocol nothing is written that its programs do not read.
func TestTheFirstProtocolHasNoVerdicts(t *testing.T) {
	o := fullOutbox()
	got, err := checkpoint.DecodeOutbox("k", checkpoint.EncodeOutbox(o, checkpoint.Protocol1))
	must(t, err)
	if len(got.Bills) != len(o.Bills) || len(got.DeadLetters) != len(o.DeadLetters) || len(got.Verdicts)+len(got.Trips) != 0 {
		t.Errorf("got %+v", got)
	}
	if empty := checkpoint.EncodeOutbox(schemas.Outbox{}, checkpoint.Protocol1); len(empty) >= len(checkpoint.EncodeOutbox(schemas.Outbox{}, checkpoint.Protocol2)) {
		t.Error("the two formats are the same")
	}
}
