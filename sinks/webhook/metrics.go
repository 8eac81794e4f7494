package webhook

import "github.com/prometheus/client_golang/prometheus"

// Results of an alert at a channel, beside the reasons of undelivered.go.
const (
	resultDelivered = "entregue"
	resultNoChannel = "sem_canal" // no channel takes its region and kind
	noChannel       = ""
)

type metrics struct {
	results  *prometheus.CounterVec
	failures *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	waiting  *prometheus.GaugeVec
}

func newMetrics() *metrics {
	return &metrics{
		results: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "taximeter_alert_deliveries_total",
			Help: "Alerts that a channel is done with, by result: entregue, or why not."}, []string{"channel", "result"}),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "taximeter_alert_attempts_failed_total",
			Help: "Attempts to deliver an alert that are made again."}, []string{"channel"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "taximeter_alert_delivery_seconds",
			Help:    "From an alert's record on its topic to the channel's answer.",
			Buckets: []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300}}, []string{"channel"}),
		waiting: prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "taximeter_alerts_waiting",
			Help: "Alerts that a channel has not taken yet."}, []string{"channel"}),
	}
}

func (m *metrics) all() []prometheus.Collector {
	return []prometheus.Collector{m.results, m.failures, m.seconds, m.waiting}
}

func (m *metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, c := range m.all() {
		c.Describe(ch)
	}
}

func (m *metrics) Collect(ch chan<- prometheus.Metric) {
	for _, c := range m.all() {
		c.Collect(ch)
	}
}
