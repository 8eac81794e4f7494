package rig

import (
	"context"
	"encoding/json"
	"errors"
	"runtime/debug"

	"taximeter/cluster/node/embedded"
)

// BrokerSpec is an embedded broker in memory, with a registry.
type BrokerSpec struct {
	Partitions  int32
	AppendTimes embedded.AppendTimes
}

// Where is where a broker and its registry answer.
type Where struct {
	Brokers  []string
	Registry string
}

// StartBroker brings a broker up in a process of its own.
func StartBroker(ctx context.Context, s BrokerSpec) (*Process, Where, error) {
	p, err := Spawn(ctx, RoleBroker, s)
	if err != nil {
		return nil, Where{}, err
	}
	var at Where
	if err := p.Hear(&at); err != nil {
		return nil, Where{}, err
	}
	return p, at, nil
}

func serveBroker(ctx context.Context, s BrokerSpec, say *json.Encoder) (err error) {
	debug.SetGCPercent(25) // its heap is the log, and the log is large
	o := embedded.DefaultOptions()
	o.Tasks, o.AppendTimes, o.Keep = s.Partitions, s.AppendTimes, embedded.KeepForever
	broker, err := embedded.Start(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, broker.Close()) }()
	registry, err := StartRegistry(ctx, broker.Seeds())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, registry.Close()) }()
	if err := say.Encode(Where{Brokers: broker.Seeds(), Registry: registry.URL}); err != nil {
		return err
	}
	select {
	case <-parentGone():
		return nil
	case err := <-registry.ended:
		return err
	}
}
