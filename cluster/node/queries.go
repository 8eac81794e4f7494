package node

import (
	"context"
	"errors"
	"time"

	"taximeter/actors/host"
	"taximeter/actors/trip"
	"taximeter/checkpoint"
	"taximeter/cluster/admin"
	"taximeter/schemas"
)

// Trip asks the trip's owner, which answers between two batches.
func (n *Node) Trip(ctx context.Context, id schemas.TripID) (admin.TripAnswer, error) {
	v, t, err := query[trip.View](ctx, n, id, &host.ViewQuery{Trip: id})
	if err != nil {
		return admin.TripAnswer{}, err
	}
	a := admin.TripAnswer{View: v, Partition: t.partition, Owner: n.cfg.NodeID}
	if s := t.stats.Load(); s != nil {
		a.Watermark = s.Watermark
		for i := range s.Positions {
			a.NextOffsets[i] = s.Positions[i].Next
		}
	}
	return a, nil
}

// Explain asks the trip's owner how its bill came about.
func (n *Node) Explain(ctx context.Context, id schemas.TripID) (trip.Explanation, error) {
	x, _, err := query[trip.Explanation](ctx, n, id, &host.ExplainQuery{Trip: id})
	return x, err
}

func query[T any](ctx context.Context, n *Node, id schemas.TripID, m any) (answer T, t *task, err error) {
	n.mu.Lock()
	t = n.tasks[schemas.PartitionOf([]byte(id), n.partitions)]
	n.mu.Unlock()
	if t == nil {
		return answer, nil, admin.ErrMoving
	}
	answer, err = ask[T](ctx, n, t.owner, m)
	switch {
	case errors.Is(err, host.ErrNoTrip):
		err = admin.ErrNoTrip
	case errors.Is(err, host.ErrOwnerFailed):
		err = admin.ErrMoving
	}
	return answer, t, err
}

// Partitions tells where every partition stands.
func (n *Node) Partitions() []admin.PartitionStatus {
	all := make([]admin.PartitionStatus, n.partitions)
	tip := n.tip.Load()
	for p := range all {
		all[p] = admin.PartitionStatus{Partition: schemas.Partition(p), Owner: n.cfg.NodeID, State: "starting", Watermark: schemas.NoTime,
			EndOffset: [schemas.NumInputs]schemas.Offset{-1, -1, -1}}
		if tip == nil {
			continue
		}
		if e, ok := tip.Entry(schemas.Partition(p)); ok && e.Owner != n.id() {
			all[p].Owner, all[p].Epoch, all[p].State = string(e.Owner), int64(e.Epoch), admin.Elsewhere
			all[p].Watermark, all[p].NextOffset = e.Watermark, e.Next // as of its newest checkpoint
		}
	}
	for _, t := range n.runs() {
		all[t.partition] = t.status(all[t.partition])
	}
	return all
}

func (t *task) status(st admin.PartitionStatus) admin.PartitionStatus {
	st.Epoch, st.Published, st.Pending = int64(t.epoch), int64(t.speaker.Published()), t.speaker.Unpublished()
	if err := t.failure.Load(); err != nil {
		st.State, st.Error = "failed", (*err).Error()
	} else if err := t.node.inputFault.Load(); err != nil {
		st.State, st.Error = "stopped", (*err).Error()
	}
	s := t.stats.Load()
	if s == nil {
		return st
	}
	if st.State == "starting" {
		st.State = "running"
	}
	st.Watermark, st.Trips, st.Alerts = s.Watermark, s.Resident, s.Alerts
	st.Unsealed = admin.Waiting{Bills: s.Bills, Windows: s.Windows, Letters: s.Letters}
	st.SealPauseMS = float64(s.SealPause) / float64(time.Millisecond)
	st.Verdicts, st.Anomalies = make(map[string]int64), make(map[string]int64)
	for v, c := range s.Ledger.Verdicts {
		if c > 0 {
			st.Verdicts[schemas.Verdict(v).String()] = c
		}
	}
	for k, c := range s.Ledger.Anomalies {
		if c > 0 {
			st.Anomalies[schemas.AnomalyKind(k).String()] = c
		}
	}
	for i, pos := range s.Positions {
		st.FirstOffset[i], st.NextOffset[i] = pos.First, pos.Next
		st.Control += pos.Control
		st.Skipped[i] = pos.Skipped
	}
	if view := t.ends.Load(); view != nil {
		for i, l := range view.lanes {
			st.EndOffset[i] = l.End
			switch {
			case l.Stopped != nil:
				st.Waiting[i] = l.Stopped.Error()
				st.Stopped[i], st.Missing[i] = stopReason(l.Stopped)
			case l.Waiting != nil:
				st.Waiting[i] = l.Waiting.Error()
			case s.Held[i]:
				st.Waiting[i] = "ahead of the other topic in event time"
			}
		}
	}
	return st
}

// recentPatience bounds the reading of manifests for people: most want to know where things
// stand because the store does not answer.
const recentPatience = time.Second

// Checkpoints tells of the newest manifest, and reads as many of the newest as asked for, or
// as the store gives.
func (n *Node) Checkpoints(ctx context.Context, recent int) (admin.CheckpointStatus, error) {
	st := admin.CheckpointStatus{Namespace: n.cfg.Namespace}
	rounds := n.rounds.Load()
	if rounds == nil {
		return st, nil
	}
	st.Tip, st.AgeS = int64(rounds.Tip.Number), time.Since(rounds.RoundAt).Seconds()
	if rounds.LastError != nil {
		st.LastError = rounds.LastError.Error()
	}
	for _, t := range n.tables {
		st.Sinks = append(st.Sinks, t.status())
	}
	ctx, cancel := context.WithTimeout(ctx, recentPatience)
	defer cancel()
	chain := checkpoint.NewChain(n.store, n.ns)
	for number := rounds.Tip.Number; number >= rounds.Tip.Oldest && len(st.Recent) < recent; number-- {
		m, err := chain.Read(ctx, number)
		if err != nil {
			if st.LastError == "" {
				st.LastError = err.Error()
			}
			break
		}
		st.Recent = append(st.Recent, viewOf(m))
	}
	return st, nil
}

func viewOf(m checkpoint.Manifest) admin.CheckpointView {
	v := admin.CheckpointView{Number: int64(m.Number), Lineage: int64(m.Lineage), Cause: string(m.Cause), CreatedAt: m.CreatedAt, CreatedBy: string(m.CreatedBy)}
	counted := make(map[string]bool)
	for _, e := range m.Entries {
		if e.Made == m.Number {
			v.Sealed++
		}
		v.Pending += len(e.Pending)
		for _, f := range e.Files {
			if !counted[f.Key] {
				counted[f.Key] = true
				v.Files++
				v.Bytes += f.Size
			}
		}
	}
	return v
}

// Ready is nil once every partition runs and checkpoints succeed.
func (n *Node) Ready() error {
	n.mu.Lock()
	ready, running := n.ready, len(n.tasks)
	n.mu.Unlock()
	owned := 0
	if tip := n.tip.Load(); tip != nil {
		owned = len(tip.Owned(n.id()))
	}
	rounds := n.rounds.Load()
	strange := n.crew.strange.Load()
	switch {
	case !ready:
		return errors.New("the node is starting or stopping")
	case strange != nil:
		return *strange
	case running < owned:
		return errors.New("some partitions are being started anew")
	case rounds != nil && rounds.LastError != nil:
		return rounds.LastError
	}
	return n.stopped()
}
