package checkpoint

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"taximeter/schemas"
)

// Audit is what an operator did to the chain, and why. It is kept for ever: manifests
// retire within hours.
type Audit struct {
	Namespace Namespace      `json:"namespace"`
	Token     string         `json:"token"` // of the manifest that does it
	At        schemas.Millis `json:"at"`
	By        NodeID         `json:"by"`
	Command   string         `json:"command"` // what was asked for, in words
	Reason    string         `json:"reason"`
	Number    Number         `json:"number"` // of the manifest
	Outcome   Outcome        `json:"outcome"`
}

// Outcome of what an operator asked for.
type Outcome string

const (
	// OutcomeTried was written before the manifest: whether it entered the chain the chain
	// tells, by the token.
	OutcomeTried Outcome = "tried"
	OutcomeDone  Outcome = "done" // Number is in the chain
	OutcomeLost  Outcome = "lost" // other writers were faster each time, nothing was changed
)

// operateAttempts bound how often an operator's change is derived anew because others
// wrote to the chain first.
const operateAttempts = 10

// Operate does what a names: it derives the manifest after the tip and commits it. The
// record of it is written before, so that no change is without one, and completed after.
//
// Once derived, a change is made though ctx ends: whoever interrupts must not have to guess.
// An error together with a manifest means that the change was made and its record is not
// complete.
func (c *Chain) Operate(ctx context.Context, a Audit, derive func(tip Manifest, by Stamp) (Manifest, error)) (Manifest, error) {
	if err := checkSegment("token", a.Token); err != nil {
		return Manifest{}, err
	}
	stamp := Stamp{At: a.At, By: a.By, Token: a.Token}
	a.Namespace = c.ns
	for range operateAttempts {
		tip, err := c.Tip(ctx)
		if err != nil {
			return Manifest{}, err
		}
		if c.stoodIn > 0 && tip.Number > c.stoodIn {
			return Manifest{}, fmt.Errorf("a node that knows manifest %d has gone on from it to %d: the newest manifest is whole again, and nothing was changed", c.stoodIn, tip.Number)
		}
		next, err := derive(tip, stamp)
		if err != nil {
			return Manifest{}, err
		}
		a.Number = next.Number
		whole := context.WithoutCancel(ctx)
		if err := c.note(whole, a, OutcomeTried); err != nil {
			return Manifest{}, err
		}
		won, _, err := c.Commit(whole, next)
		switch {
		case won:
			c.stoodIn = 0
			return next, errors.Join(err, c.note(whole, a, OutcomeDone))
		case errors.Is(err, ErrUnclear):
			return Manifest{}, fmt.Errorf("%w; it may have been done, or still be: look with `taximeter checkpoint list` before you try again", err)
		case err != nil:
			return Manifest{}, err
		}
	}
	return Manifest{}, errors.Join(fmt.Errorf("%s: other writers were faster %d times; nothing was changed", a.Command, operateAttempts),
		c.note(ctx, a, OutcomeLost))
}

func (c *Chain) note(ctx context.Context, a Audit, o Outcome) error {
	a.Outcome = o
	data, err := encode(firstFormat, kindAudit, a)
	if err != nil {
		return err
	}
	if err := c.store.Put(ctx, c.ns.Audit(a.Token), bytes.NewReader(data)); err != nil {
		return fmt.Errorf("audit record of %q, outcome %s: %w", a.Command, o, err)
	}
	return nil
}

// Audits reads what operators did, in the order of their tokens.
func (c *Chain) Audits(ctx context.Context) ([]Audit, error) {
	var all []Audit
	for info, err := range c.store.List(ctx, c.ns.AuditPrefix(), "") {
		if err != nil {
			return nil, fmt.Errorf("list audit records: %w", err)
		}
		data, err := ReadAll(ctx, c.store, info.Key)
		if err != nil {
			return nil, fmt.Errorf("read audit record: %w", err)
		}
		e, err := open(info.Key, data)
		if err != nil {
			return nil, err
		}
		var a Audit
		if err := e.body(info.Key, kindAudit, &a); err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	return all, nil
}
