package iceberg

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/table"
)

// The tables. Names of columns are those of the contracts, in the snake case of SQL.
const (
	TableTelemetry      = "telemetria"
	TableRides          = "eventos"
	TablePayments       = "pagamentos"
	TableWindows        = "janelas"         // the version that stands
	TableWindowVersions = "janelas_versoes" // every version
	TableBills          = "faturas"         // the version that stands
	TableBillVersions   = "faturas_versoes" // every version
	TableVerdicts       = "vereditos"
)

// shape is a table as it is created, and what maintenance needs to know of it.
type shape struct {
	name, doc string
	fields    []iceberg.NestedField
	// day is the column of time whose UTC day is the partition.
	day string
	// buckets, if not 0, also partitions by so many buckets of trip_id.
	buckets int
	sort    []string
	// key names one row of a table that keeps only the version that stands; nil = append only.
	key []string
}

// tableOf is a table whose rows are made from R.
type tableOf[R any] struct {
	shape
	columns []column[R]
}

func newTable[R any](s shape, columns ...[]column[R]) *tableOf[R] {
	t := &tableOf[R]{shape: s}
	for _, c := range columns {
		t.columns = append(t.columns, c...)
	}
	for _, c := range t.columns {
		t.fields = append(t.fields, c.field)
	}
	return t
}

// schema numbers the fields from 1; a catalog may number them anew.
func (s *shape) schema() (*iceberg.Schema, error) {
	id := 0
	return iceberg.AssignFreshSchemaIDs(iceberg.NewSchema(0, s.fields...), func() int { id++; return id })
}

func (s *shape) spec(schema *iceberg.Schema) (iceberg.PartitionSpec, error) {
	by := []iceberg.PartitionOption{iceberg.AddPartitionFieldByName(s.day, s.day+"_day", iceberg.DayTransform{}, schema, nil)}
	if s.buckets > 0 {
		by = append(by, iceberg.AddPartitionFieldByName("trip_id", "trip_id_bucket", iceberg.BucketTransform{NumBuckets: s.buckets}, schema, nil))
	}
	return iceberg.NewPartitionSpecOpts(by...)
}

func (s *shape) order(schema *iceberg.Schema) (table.SortOrder, error) {
	var fields []table.SortField
	for _, name := range s.sort {
		f, ok := schema.FindFieldByName(name)
		if !ok {
			return table.SortOrder{}, fmt.Errorf("no column %s to sort by", name)
		}
		fields = append(fields, table.SortField{SourceIDs: []int{f.ID}, Transform: iceberg.IdentityTransform{}, Direction: table.SortASC, NullOrder: table.NullsFirst})
	}
	return table.NewSortOrder(table.InitialSortOrderID, fields)
}

// arrowSchema is that of some columns of a table, with its field ids.
func arrowSchema(of *table.Table, names []string) (*arrow.Schema, error) {
	some, err := of.Schema().Select(true, names...)
	if err != nil {
		return nil, fmt.Errorf("table %s: %w", of.Identifier(), err)
	}
	return table.SchemaToArrowSchema(some, nil, true, false)
}
