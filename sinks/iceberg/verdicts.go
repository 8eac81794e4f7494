package iceberg

import (
	"taximeter/checkpoint"
	"taximeter/schemas"
)

// verdictRow says what became of the offsets [first, next) of one topic and partition. The
// rows of a topic and partition tile its offsets without gap or overlap.
type verdictRow struct {
	topic       schemas.Topic
	partition   schemas.Partition
	hour        *schemas.Millis // of the append times; nil without a record
	made        checkpoint.Number
	first, next schemas.Offset
	counts      [schemas.NumVerdicts]int64
	lost        int64 // accepted records that Kafka no longer held
}

// control counts the offsets without a record.
func (r *verdictRow) control() int64 {
	n := int64(r.next - r.first)
	for _, c := range r.counts {
		n -= c
	}
	return n
}

const (
	columnTopic     = "topico"
	columnPartition = "particao"
	columnHour      = "hora"
	columnFirst     = "offset_inicial"
	columnNext      = "offset_seguinte"
)

func verdictTable() *tableOf[verdictRow] {
	columns := []column[verdictRow]{
		text(columnTopic, "Input topic.", func(r *verdictRow) string { return r.topic.String() }),
		integer(columnPartition, "Kafka partition.", func(r *verdictRow) schemas.Partition { return r.partition }),
		optInstant(columnHour, "Hour in which the broker appended the records; null without a record.", func(r *verdictRow) *schemas.Millis { return r.hour }),
		long(columnCheckpoint, "Number of the manifest that consumed them.", func(r *verdictRow) checkpoint.Number { return r.made }),
		long(columnFirst, "First offset of the row.", func(r *verdictRow) schemas.Offset { return r.first }),
		long(columnNext, "First offset after the row; all rows of a topic and partition join without gap.", func(r *verdictRow) schemas.Offset { return r.next }),
	}
	for v := range schemas.NumVerdicts {
		columns = append(columns, optLong(verdictColumn(v), "Records with the verdict "+v.String()+".",
			func(r *verdictRow) *int64 { return &r.counts[v] }))
	}
	columns = append(columns,
		optLong("controle", "Offsets without a record: transaction markers, aborted records, what an operator skipped.", func(r *verdictRow) *int64 { n := r.control(); return &n }),
		optLong(columnLost, "Accepted records that are in no table because Kafka no longer held them; they are in the counts.", func(r *verdictRow) *int64 { return &r.lost }))
	return newTable(shape{name: TableVerdicts, doc: "What became of every offset of the input topics.",
		day: columnHour, sort: []string{columnTopic, columnPartition, columnFirst}}, columns)
}
