//go:build chaos

package main

import (
	"taximeter/checkpoint"
	"taximeter/cluster/node"
	plans "taximeter/cmd/internal/chaos/inject"
)

// inject lets the fault harness's plan for this process stand between node and world.
func inject(o *node.Options, cfg node.Config) error {
	plan, err := plans.FromEnvironment()
	if plan == nil {
		return err
	}
	plan.Cramp()
	o.Output, o.Wall, o.OnLakeStep = plan.Kafka(), plan.Wall, plan.Lake
	o.Store = func(st checkpoint.Store) checkpoint.Store { return plan.Store(st, cfg.Namespace) }
	return nil
}
