package main

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// write prints the comparison as Markdown: medians over the rounds; ratios are medians of
// the rounds' ratios, since the load of the machine changes from round to round.
func (c *comparison) write(to io.Writer) {
	n := float64(c.log.Counts.Records)
	us := func(m measure) float64 { return float64(m.cpu) / float64(time.Microsecond) / n }
	fmt.Fprintf(to, "%d records of %.0f bytes (%s, %s), %d trips, %d partitions; %d rounds, peers warmed for %s and taximeter by one pass, checkpoints every %s\n\n",
		c.log.Counts.Records, float64(c.log.Bytes)/n, c.shape, c.compression, c.log.Counts.Trips, c.partitions, c.rounds, c.warm, c.checkpoint)
	base := c.base()
	fmt.Fprintf(to, "| system | CPU us/event | least to most | times %s | events/s (wall) | peak MB | checked |\n", base)
	fmt.Fprintln(to, "|---|---|---|---|---|---|---|")
	our := c.measures[base]
	for _, s := range c.chosen {
		all := c.measures[s.name]
		if len(all) == 0 {
			continue
		}
		var cpu, rate, peak, ratio []float64
		for round, m := range all {
			cpu = append(cpu, us(m))
			rate = append(rate, n/m.wall.Seconds())
			peak = append(peak, float64(m.peakRSS)/(1<<20))
			if round < len(our) {
				ratio = append(ratio, us(m)/us(our[round]))
			}
		}
		fmt.Fprintf(to, "| %s | %.2f | %.2f to %.2f | %s | %.0f | %s | %s |\n", s.name, median(cpu), slices.Min(cpu), slices.Max(cpu),
			orDash(median(ratio), "%.2f"), median(rate), orDash(median(peak), "%.0f"), checked[s.computes])
	}
}

// base is the system by which ratios count: ours as it ships, or the form of it that ran.
func (c *comparison) base() string {
	for _, name := range []string{ours, oursWithoutAlerts} {
		if len(c.measures[name]) > 0 {
			return name
		}
	}
	return ours
}

var checked = map[outputs]string{nothing: "-", windowsAlone: "positions per window", billsToo: "bills and windows"}

func orDash(x float64, format string) string {
	if x == 0 {
		return "-"
	}
	return fmt.Sprintf(format, x)
}

// median of some figures; 0 of none.
func median(all []float64) float64 {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	if n := len(sorted); n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return sorted[len(sorted)/2]
}
