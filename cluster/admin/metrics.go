package admin

import (
	"context"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"taximeter/schemas"
)

// collector turns a node's status into metrics at each scrape: nothing is counted twice.
type collector struct {
	node Node

	records, anomalies, control *prometheus.Desc
	lag, watermark              *prometheus.Desc
	stopped, missing, skipped   *prometheus.Desc
	trips, unsealed, unsent     *prometheus.Desc
	pending                     *prometheus.Desc
	pause, age, number          *prometheus.Desc
	ready, revoked, ended       *prometheus.Desc
	held, failing               *prometheus.Desc
	copyBehind, copyBytes       *prometheus.Desc
}

// NewCollector describes a node to Prometheus.
func NewCollector(n Node) prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("taximeter_"+name, help, labels, nil)
	}
	return &collector{
		node:       n,
		records:    desc("records_total", "Input records by verdict.", "partition", "verdict"),
		control:    desc("control_offsets_total", "Offsets of transaction markers and aborted records. With records_total they sum to the offsets consumed.", "partition"),
		anomalies:  desc("anomalies_total", "Odd things that cost nobody a bill.", "partition", "kind"),
		lag:        desc("lag_records", "Offsets behind the end of the input topic.", "partition", "topic"),
		stopped:    desc("input_stopped", "1 while an input stands still until an operator decides.", "partition", "topic", "reason"),
		missing:    desc("missing_records", "Records that a stopped input should read next and that the log no longer holds.", "partition", "topic"),
		skipped:    desc("skipped_offsets", "Offsets left out by an operator's word; negative when read again. With records_total and control_offsets_total they sum to the offsets consumed.", "partition", "topic"),
		watermark:  desc("watermark_seconds", "Event time of the partition, seconds since the epoch.", "partition"),
		trips:      desc("trips_resident", "Trips in memory.", "partition"),
		unsealed:   desc("outbox_unsealed", "Results that no committed checkpoint holds yet.", "partition"),
		pending:    desc("publications_pending", "Outboxes of committed checkpoints that this node has not published to Kafka yet.", "partition"),
		unsent:     desc("alerts_unsent", "Alerts decided and not yet durable on their topic.", "partition"),
		pause:      desc("seal_pause_seconds", "How long the last seal stopped the partition.", "partition"),
		age:        desc("checkpoint_age_seconds", "Time since the newest checkpoint."),
		number:     desc("checkpoint_number", "Number of the newest manifest."),
		held:       desc("sink_checkpoint_number", "Newest checkpoint up to which a sink lacks nothing.", "sink"),
		failing:    desc("sink_failing", "1 while a sink cannot be fed by this node.", "sink"),
		ready:      desc("ready", "1 when the node does its work."),
		revoked:    desc("revoked_runs_total", "Runs of partitions that other nodes took from this one before it gave them up; what they still tried to write was refused."),
		ended:      desc("transactions_ended_total", "Transactions of earlier runs that Kafka had left open and that this node ended as their coordinator had decided."),
		copyBehind: desc("standby_behind_seconds", "Since when there is a newer checkpoint than this node's copy of a partition that another runs; 0 = it is the newest.", "partition"),
		copyBytes:  desc("standby_bytes", "What the copies of partitions that other nodes run take on this node's disk."),
	}
}

// NewInputWaits is fed by whoever reads the input: seconds for which records could have been
// read and were not.
func NewInputWaits() prometheus.Histogram {
	return prometheus.NewHistogram(prometheus.HistogramOpts{Name: "taximeter_input_wait_seconds",
		Help:    "For how long the first record of a fetch had lain in the log of a partition, or since the answer to the fetch before.",
		Buckets: []float64{.001, .0025, .005, .01, .02, .035, .05, .075, .1, .125, .15, .2, .25, .3, .4, .5, .75, 1, 2.5, 5, 10, 30, 60}})
}

func (c *collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.records, c.control, c.anomalies, c.lag, c.watermark, c.stopped, c.missing, c.skipped, c.trips, c.unsealed, c.unsent, c.pending,
		c.pause, c.age, c.number, c.held, c.failing, c.ready, c.revoked, c.ended, c.copyBehind, c.copyBytes} {
		ch <- d
	}
}

func (c *collector) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	counter := func(d *prometheus.Desc, v int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(v), labels...)
	}
	for _, p := range c.node.Partitions() {
		if p.State == Elsewhere {
			continue // its owner tells
		}
		id := strconv.Itoa(int(p.Partition))
		for v, n := range p.Verdicts {
			counter(c.records, n, id, v)
		}
		counter(c.control, p.Control, id)
		for k, n := range p.Anomalies {
			counter(c.anomalies, n, id, k)
		}
		for _, t := range schemas.Inputs {
			if reason := p.Stopped[t]; reason != "" {
				gauge(c.stopped, 1, id, t.String(), reason)
				gauge(c.missing, float64(p.Missing[t]), id, t.String())
			}
			if p.Skipped[t] != 0 {
				gauge(c.skipped, float64(p.Skipped[t]), id, t.String())
			}
			if p.EndOffset[t] >= 0 {
				gauge(c.lag, float64(max(0, p.EndOffset[t]-p.NextOffset[t])), id, t.String())
			}
		}
		if p.Watermark != schemas.NoTime && p.Watermark != schemas.EndOfTime {
			gauge(c.watermark, float64(p.Watermark)/1000, id)
		}
		gauge(c.trips, float64(p.Trips), id)
		gauge(c.unsealed, float64(p.Unsealed.Bills+p.Unsealed.Windows+p.Unsealed.Letters), id)
		gauge(c.pending, float64(p.Pending), id)
		gauge(c.unsent, float64(p.Alerts), id)
		gauge(c.pause, p.SealPauseMS/1000, id)
	}
	if cp, err := c.node.Checkpoints(context.Background(), 0); err == nil {
		gauge(c.age, cp.AgeS)
		gauge(c.number, float64(cp.Tip))
		for _, s := range cp.Sinks {
			failing := 0.0
			if s.Error != "" {
				failing = 1
			}
			gauge(c.held, float64(s.Held), s.Name)
			gauge(c.failing, failing, s.Name)
		}
	}
	ready := 0.0
	if c.node.Ready() == nil {
		ready = 1
	}
	gauge(c.ready, ready)
	cluster := c.node.Cluster()
	counter(c.revoked, cluster.Revoked)
	counter(c.ended, cluster.Ended)
	gauge(c.copyBytes, float64(cluster.Copies.Bytes))
	for p, behind := range cluster.Copies.Behind {
		gauge(c.copyBehind, behind, strconv.Itoa(int(p)))
	}
}
