// Package webhook delivers the alerts of corridas.alertas to people: a consumer group
// posts each one to the channels of its region. Every node may run it; the group shares
// the partitions of the topic.
//
// Delivery is at least once, with the alert's id as the key of idempotency, and in order
// per region and channel. Each channel has a line of its own in each partition, so that a
// slow or broken one delays nobody else. What a channel does not take within its budget
// goes to corridas.alertas.nao_entregues, and the line moves on.
//
// It must never move an offset past an alert that is neither delivered nor written there,
// and never tell a channel's address, which often is a secret, in logs, metrics or records.
//
// Start reading at run.go; lane.go decides about trying again.
package webhook
