package dev

import (
	"context"
	"fmt"
	"time"

	"taximeter/cluster/admin"
	"taximeter/cmd/internal/published"
	"taximeter/cmd/internal/ui"
	"taximeter/schemas"
)

const (
	firstBills  = 3 // told one by one
	reportEvery = 15 * time.Second
)

// watch tells a person what comes out: the first bills and alerts, then a line now and then.
func (r *run) watch(ctx context.Context) error {
	results := make(chan published.Result, 64)
	failed := make(chan error, 1)
	go func() { failed <- published.Follow(ctx, r.world.Kafka(), r.world.Registry(), results) }()
	report := time.NewTicker(reportEvery)
	defer report.Stop()
	var bills, windows, alerts, letters int
	for {
		select {
		case x := <-results:
			switch {
			case x.Bill != nil:
				if bills++; bills <= firstBills {
					r.say("bill    %s", describeBill(x.Bill))
				}
				if bills == 1 {
					r.say("        see it: %s", r.askNode("trip explain "+string(x.Bill.TripID)))
				}
			case x.Alert != nil:
				if alerts++; alerts <= firstBills {
					r.say("alert   %s on trip %s (rule %s), since %s", x.Alert.Kind, x.Alert.TripID, x.Alert.RuleID, x.Alert.OnsetAt)
				}
			case x.Window != nil:
				windows++
			case x.Letter != nil:
				letters++
			}
		case <-report.C:
			consumed, trips := totals(r.node.Partitions())
			r.say("%s  %s records, %s trips in memory; published: %s bills, %s windows, %s alerts, %s dead letters", time.Now().Format(time.TimeOnly),
				ui.Count(consumed), ui.Count(trips), ui.Count(bills), ui.Count(windows), ui.Count(alerts), ui.Count(letters))
		case err := <-failed:
			if ctx.Err() != nil {
				return nil
			}
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

func describeBill(b *schemas.Bill) string {
	return fmt.Sprintf("%s version %d: %s %s for %s, %s (%s/%s), end of trip %s", b.TripID, b.Version, b.Amount, b.Currency,
		ui.Km(b.DistanceMM), ui.Seconds(b.DurationS), b.Region, b.Category, b.End)
}

func totals(partitions []admin.PartitionStatus) (consumed int64, trips int) {
	for _, p := range partitions {
		trips += p.Trips
		for _, n := range p.Verdicts {
			consumed += n
		}
	}
	return consumed, trips
}
