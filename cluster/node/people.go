package node

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"taximeter/sinks/webhook"
)

// openDelivery makes the delivery of alerts to people ready; without channels there is none.
func (n *Node) openDelivery(metrics *prometheus.Registry) (err error) {
	if len(n.cfg.Alerts.Channels) == 0 {
		return nil
	}
	n.delivery, err = webhook.New(n.cfg.Alerts, webhook.Options{Client: n.cfg.Kafka.Options(), Namespace: n.cfg.Namespace, Registry: n.registry, Log: n.log})
	if err == nil {
		err = metrics.Register(n.delivery.Metrics())
	}
	return err
}

// deliver runs the delivery until the node ends: no fault of it touches the meter.
func (n *Node) deliver() {
	pause := firstTablePause
	for {
		began := time.Now()
		err := n.delivery.Run(n.ctx)
		if n.ctx.Err() != nil {
			return
		}
		if time.Since(began) > longestPause {
			pause = firstTablePause
		}
		n.log.Error("alerts are not delivered to people; trying again", "err", err, "pause", pause)
		if !n.sleep(pause) {
			return
		}
		pause = min(2*pause, longestPause)
	}
}
