package dev

import (
	"fmt"
	"strings"
	"time"

	"taximeter/schemas"
)

// welcome tells what is up and how to look into it.
func (r *run) welcome(feeding string) string {
	url := r.node.AdminURL()
	rows := [][2]string{
		{"curl " + url + "/partitions", "where every partition stands"},
		{r.askNode("trip show ID"), "a trip as it is now"},
		{r.askNode("trip explain ID"), "its bill, line by line"},
		{r.askKafka("consume " + schemas.TopicPayments), fmt.Sprintf("bills and payments (also %s, %s, %s)", schemas.TopicWindows, schemas.TopicAlerts, schemas.TopicDLQ)},
		{r.askKafka("catalogue show"), "tariffs and alert rules"},
		{"curl " + url + "/metrics", "for Prometheus"},
	}
	width := 0
	for _, row := range rows {
		width = max(width, len(row[0]))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "taximeter is up after %.1f s: broker %s, registry %s, admin %s\n%s\n", time.Since(r.began).Seconds(),
		strings.Join(r.world.Brokers(), ","), r.world.RegistryURL(), url, feeding)
	b.WriteString("Look around; the first bills below print a trip's ID:\n")
	for _, row := range rows {
		fmt.Fprintf(&b, "  %-*s  %s\n", width, row[0], row[1])
	}
	fmt.Fprintf(&b, "Ctrl-C stops it; the state stays in %s.\n", r.o.Data)
	return b.String()
}

// askNode and askKafka are commands of this program that work as they stand: with the
// addresses of this run where they are not the commands' defaults.
func (r *run) askNode(words string) string {
	d := DefaultOptions()
	return r.o.Program + " " + words + flag("--admin", r.node.AdminURL(), fmt.Sprintf("http://127.0.0.1:%d", d.AdminPort))
}

func (r *run) askKafka(words string) string {
	d := DefaultOptions()
	return r.o.Program + " " + words + flag("--brokers", strings.Join(r.world.Brokers(), ","), fmt.Sprintf("127.0.0.1:%d", d.KafkaPort)) +
		flag("--registry", r.world.RegistryURL(), fmt.Sprintf("http://127.0.0.1:%d", d.RegistryPort))
}

func flag(name, value, standard string) string {
	if value == standard {
		return ""
	}
	return " " + name + " " + value
}
