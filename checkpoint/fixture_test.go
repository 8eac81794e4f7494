package checkpoint_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

var ctx = context.Background()

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func by(token string) checkpoint.Stamp {
	return checkpoint.Stamp{At: 1_700_000_000_000, By: "a", Token: token}
}

// chainOf is a manifest of two partitions, both run by "a" (epoch 1, incarnation 10), with
// members a, b, c; its number is 2.
func chainOf(t *testing.T) checkpoint.Manifest {
	t.Helper()
	first := checkpoint.Genesis(ns, [schemas.NumInputs]string{"t1", "t2", "t3"}, make([]checkpoint.Offsets, 2), by("g"))
	m, err := checkpoint.Assign(first, limits, by("s"), checkpoint.Join{Node: "b"}, checkpoint.Join{Node: "c"},
		checkpoint.Start{Partition: 0, Owner: "a", Incarnation: 10}, checkpoint.Start{Partition: 1, Owner: "a", Incarnation: 10})
	must(t, err)
	return m
}

// fileOf is a file as that seal would have uploaded it.
func fileOf(key func(checkpoint.Place, string) string, s checkpoint.Seal, content string) checkpoint.File {
	return checkpoint.FileOf([]byte(content), func(sha string) string { return key(s.Place(), sha) })
}

// sealOf is a good seal of partition p that brings items up to offset next.
func sealOf(tip checkpoint.Manifest, p schemas.Partition, last checkpoint.SealNumber, next int) checkpoint.Seal {
	s := checkpoint.NewSeal(tip, p, last)
	s.Next, s.Watermark = offsets(next), schemas.Millis(next)
	f := fileOf(ns.Part, s, fmt.Sprint("state ", next))
	f.Name = fmt.Sprint(next)
	s.Files = []checkpoint.File{f}
	s.Outbox.File = fileOf(ns.Outbox, s, fmt.Sprint("outbox ", next))
	return s
}

// grown is the manifest after tip in which the seals won.
func grown(t *testing.T, tip checkpoint.Manifest, seals ...checkpoint.Seal) checkpoint.Manifest {
	t.Helper()
	next, rejected := checkpoint.NextCheckpoint(tip, seals, nil, limits, by(fmt.Sprint("n", tip.Number)))
	if len(rejected) > 0 {
		t.Fatalf("rejected: %v", rejected)
	}
	return next
}

func madeOf(refs []checkpoint.OutboxRef) string {
	var made []string
	for _, r := range refs {
		made = append(made, fmt.Sprint(r.Made))
	}
	return strings.Join(made, " ")
}
