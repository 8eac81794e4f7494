package iceberg

import (
	"fmt"
	"strconv"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"

	"taximeter/checkpoint"
	"taximeter/sinks"
)

// Keys of table properties and snapshot summaries. The property is the truth, and survives
// the expiry of snapshots; the summary tells the history.
const (
	propertyNamespace = "taximeter.namespace"     // whose table it is
	propertyMade      = "taximeter.checkpoint-id" // every row of every outbox up to this one is in
	propertyRestores  = "taximeter.restores"      // of the chain's restores, how many are followed
	propertyLineage   = "taximeter.lineage"       // restores + 1, as manifests count
	propertyOffsets   = "taximeter.next-offsets"  // of TableVerdicts: see continuity.go
	propertyGaps      = "taximeter.gaps"          // of TableVerdicts: offsets that no outbox told of
	propertyOrphansAt = "taximeter.orphans-removed-at"
)

// progressOf reads how far a table is; a table that was never committed to stands at zero.
func progressOf(t *table.Table) (sinks.Progress, error) {
	made, err := propertyInt(t, propertyMade)
	if err != nil {
		return sinks.Progress{}, err
	}
	restores, err := propertyInt(t, propertyRestores)
	return sinks.Progress{Made: checkpoint.Number(made), Restores: int(restores)}, err
}

func propertyInt(t *table.Table, key string) (int64, error) {
	text, ok := t.Properties()[key]
	if !ok {
		return 0, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("table %s: property %s is %q, not a number: somebody else has changed it", t.Identifier(), key, text)
	}
	return n, nil
}

// progressProperties go into the table and into the summary of the snapshot that makes it so.
func progressProperties(ns checkpoint.Namespace, p sinks.Progress) iceberg.Properties {
	return iceberg.Properties{
		propertyNamespace: string(ns),
		propertyMade:      strconv.FormatInt(int64(p.Made), 10),
		propertyRestores:  strconv.Itoa(p.Restores),
		propertyLineage:   strconv.Itoa(p.Restores + 1),
	}
}
