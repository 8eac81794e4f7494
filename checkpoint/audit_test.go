package checkpoint_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"taximeter/checkpoint"
	"taximeter/checkpoint/storetest"
)

func audit() checkpoint.Audit {
	return checkpoint.Audit{Token: "op-1", At: 5, By: "ana@host", Command: "do it", Reason: "because"}
}

func carry(tip checkpoint.Manifest, by checkpoint.Stamp) (checkpoint.Manifest, error) {
	next, _ := checkpoint.NextCheckpoint(tip, nil, nil, limits, by)
	return next, nil
}

func TestWhatAnOperatorDoesIsOnRecord(t *testing.T) {
	_, chain, _ := found(t)
	m, err := chain.Operate(ctx, audit(), carry)
	must(t, err)
	if m.Number != 2 || m.CreatedBy != "ana@host" || m.Token != "op-1" {
		t.Errorf("%+v", m)
	}
	all, err := chain.Audits(ctx)
	must(t, err)
	want := audit()
	want.Namespace, want.Number, want.Outcome = ns, 2, checkpoint.OutcomeDone
	if len(all) != 1 || all[0] != want {
		t.Errorf("%+v", all)
	}
}

func TestNothingIsRecordedOfWhatIsRefused(t *testing.T) {
	mem, chain, _ := found(t)
	refusal := errors.New("no")
	_, err := chain.Operate(ctx, audit(), func(checkpoint.Manifest, checkpoint.Stamp) (checkpoint.Manifest, error) {
		return checkpoint.Manifest{}, refusal
	})
	if !errors.Is(err, refusal) || len(mem.Keys()) != 1 {
		t.Errorf("%v, keys %v", err, mem.Keys())
	}
	bad := audit()
	bad.Token = "../x"
	if _, err := chain.Operate(ctx, bad, carry); err == nil {
		t.Error("a token that is no name was taken")
	}
}

// Each time the operator derives, somebody else writes first, some times.
func TestAnOperatorDerivesAnewWhenOthersWereFaster(t *testing.T) {
	for rivals, want := range map[int]checkpoint.Outcome{3: checkpoint.OutcomeDone, 99: checkpoint.OutcomeLost} {
		mem, chain, _ := found(t)
		left := rivals
		m, err := chain.Operate(ctx, audit(), func(tip checkpoint.Manifest, by checkpoint.Stamp) (checkpoint.Manifest, error) {
			if left--; left >= 0 {
				other := checkpoint.NewChain(mem, ns)
				at, err := other.Tip(ctx)
				must(t, err)
				commit(t, other, at, 1)
			}
			return carry(tip, by)
		})
		all, listErr := checkpoint.NewChain(mem, ns).Audits(ctx)
		must(t, listErr)
		if len(all) != 1 || all[0].Outcome != want {
			t.Errorf("%d rivals: %+v", rivals, all)
		}
		if (want == checkpoint.OutcomeDone) != (err == nil) || (err == nil && m.Number != checkpoint.Number(2+rivals)) {
			t.Errorf("%d rivals: manifest %d, %v", rivals, m.Number, err)
		}
	}
}

// noAudit is a store that refuses to write audit records after the first n.
type noAudit struct {
	*storetest.Memory
	n int
}

func (s *noAudit) Put(ctx context.Context, key string, body io.ReadSeeker) error {
	if strings.HasPrefix(key, ns.AuditPrefix()) {
		if s.n--; s.n < 0 {
			return fmt.Errorf("no room for %s", key)
		}
	}
	return s.Memory.Put(ctx, key, body)
}

func TestNoChangeWithoutARecord(t *testing.T) {
	mem, _, _ := found(t)
	chain := checkpoint.NewChain(&noAudit{mem, 0}, ns)
	if m, err := chain.Operate(ctx, audit(), carry); err == nil || m.Number != 0 {
		t.Errorf("manifest %d, %v", m.Number, err)
	}
	tip, err := checkpoint.NewChain(mem, ns).Tip(ctx)
	must(t, err)
	if tip.Number != 1 {
		t.Error("changed without a record")
	}
	// A record that cannot be completed says "tried", and the change is told with the error.
	chain = checkpoint.NewChain(&noAudit{mem, 1}, ns)
	if m, err := chain.Operate(ctx, audit(), carry); err == nil || m.Number != 2 {
		t.Errorf("manifest %d, %v", m.Number, err)
	}
	all, err := chain.Audits(ctx)
	must(t, err)
	if len(all) != 1 || all[0].Outcome != checkpoint.OutcomeTried {
		t.Errorf("%+v", all)
	}
}

// interrupted is a store during whose conditional put somebody presses Ctrl-C.
type interrupted struct {
	*storetest.Memory
	press func()
}

func (s *interrupted) PutIfAbsent(ctx context.Context, key string, body io.ReadSeeker) (checkpoint.Written, error) {
	s.press()
	if err := ctx.Err(); err != nil {
		return checkpoint.Written{}, err
	}
	return s.Memory.PutIfAbsent(ctx, key, body)
}

// A change is made whole or not begun: whoever interrupts it must not have to guess.
func TestAChangeThatHasBegunIsMadeThoughInterrupted(t *testing.T) {
	mem, _, _ := found(t)
	pressed, press := context.WithCancel(ctx)
	m, err := checkpoint.NewChain(&interrupted{mem, press}, ns).Operate(pressed, audit(), carry)
	if err != nil || m.Number != 2 {
		t.Errorf("manifest %d, %v", m.Number, err)
	}
	if all, err := checkpoint.NewChain(mem, ns).Audits(ctx); err != nil || len(all) != 1 || all[0].Outcome != checkpoint.OutcomeDone {
		t.Errorf("%+v, %v", all, err)
	}
	second := audit()
	second.Token = "op-2"
	if m, err := checkpoint.NewChain(mem, ns).Operate(pressed, second, func(checkpoint.Manifest, checkpoint.Stamp) (checkpoint.Manifest, error) {
		return checkpoint.Manifest{}, pressed.Err()
	}); !errors.Is(err, context.Canceled) || m.Number != 0 {
		t.Errorf("interrupted before: manifest %d, %v", m.Number, err)
	}
}

// Nobody can say whether a put without an answer lands: the error must not sound as if it had not.
func TestAChangeWithoutAClearAnswerSaysWhereToLook(t *testing.T) {
	mem, _, _ := found(t)
	dark := false
	chain := checkpoint.NewChain(&storetest.Faults{Store: mem, Plan: func(op storetest.Op, key string) storetest.Fault {
		if dark = dark || op == storetest.OpPutIfAbsent; dark {
			return storetest.DropAnswer
		}
		return storetest.None
	}}, ns)
	_, err := chain.Operate(ctx, audit(), carry)
	if !errors.Is(err, checkpoint.ErrUnclear) || !strings.Contains(err.Error(), "checkpoint list") {
		t.Error(err)
	}
}

func TestAuditRecordsAreNeverCollected(t *testing.T) {
	_, chain, _ := found(t)
	_, err := chain.Operate(ctx, audit(), carry)
	must(t, err)
	tip, err := chain.Tip(ctx)
	must(t, err)
	commit(t, chain, tip, 9)
	_, err = chain.Collect(ctx)
	must(t, err)
	if all, err := chain.Audits(ctx); err != nil || len(all) != 1 {
		t.Errorf("%v, %v", all, err)
	}
}
