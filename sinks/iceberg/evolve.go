package iceberg

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/apache/iceberg-go"
	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"taximeter/sinks"
)

// tableProperties are those of every table. Format 2: in format 3 files cannot be added
// without row ids.
var tableProperties = iceberg.Properties{
	table.PropertyFormatVersion:               "2",
	table.ParquetCompressionKey:               "zstd",
	table.MetadataDeleteAfterCommitEnabledKey: "true",
	table.MetadataPreviousVersionsMaxKey:      "50",
	table.ManifestMergeEnabledKey:             "true",
	table.ManifestMinMergeCountKey:            "50",
	table.WriteDeleteModeKey:                  table.WriteModeCopyOnWrite,
	table.CommitNumRetriesKey:                 "0", // retrying is ours: it must look at the progress
}

// ensure makes the table what its shape says: created if it is missing, with the nullable
// columns that it lacks. A table of another taximeter namespace, or with other types, is refused.
func (l *Lake) ensure(ctx context.Context, s *shape) error {
	t, err := l.load(ctx, s)
	if errors.Is(err, catalog.ErrNoSuchTable) {
		if err = l.create(ctx, s); err != nil && !errors.Is(err, catalog.ErrTableAlreadyExists) {
			return fmt.Errorf("create table %s: %w", s.name, err)
		}
		t, err = l.load(ctx, s)
	}
	if err != nil {
		return err
	}
	if err := l.owned(s, t); err != nil {
		return err
	}
	missing, err := s.compare(t.Schema())
	if err != nil || len(missing) == 0 {
		return err
	}
	return l.addColumns(ctx, s, missing)
}

// owned refuses a table of another taximeter namespace.
func (l *Lake) owned(s *shape, t *table.Table) error {
	if owner := t.Properties()[propertyNamespace]; owner != string(l.namespace) {
		return fmt.Errorf("%w: table %s belongs to namespace %q, not %q: give each namespace its own lake.database", sinks.ErrRefused, s.name, owner, l.namespace)
	}
	return nil
}

func (l *Lake) create(ctx context.Context, s *shape) error {
	schema, err := s.schema()
	if err != nil {
		return err
	}
	spec, err := s.spec(schema)
	if err != nil {
		return err
	}
	order, err := s.order(schema)
	if err != nil {
		return err
	}
	props := progressProperties(l.namespace, zeroProgress)
	for k, v := range tableProperties {
		props[k] = v
	}
	props["comment"] = s.doc
	options := []catalog.CreateTableOpt{catalog.WithPartitionSpec(&spec), catalog.WithSortOrder(order), catalog.WithProperties(props)}
	if l.location != "" {
		options = append(options, catalog.WithLocation(l.location+"/"+l.database+"/"+s.name))
	}
	_, err = l.catalog.CreateTable(ctx, l.identifier(s), schema, options...)
	return err
}

// compare lists the columns that the table lacks. Columns that only the table has are left
// alone: a later version, or a person, added them.
func (s *shape) compare(have *iceberg.Schema) (missing []iceberg.NestedField, err error) {
	var faults []string
	for _, want := range s.fields {
		got, ok := have.FindFieldByName(want.Name)
		switch {
		case !ok && want.Required:
			faults = append(faults, fmt.Sprintf("column %s is missing and cannot be null", want.Name))
		case !ok:
			missing = append(missing, want)
		case !sameType(got.Type, want.Type):
			faults = append(faults, fmt.Sprintf("column %s is %s, not %s", want.Name, got.Type, want.Type))
		case got.Required && !want.Required:
			faults = append(faults, fmt.Sprintf("column %s is required, and we write nulls", want.Name))
		}
	}
	for _, got := range have.Fields() {
		if got.Required && !slices.ContainsFunc(s.fields, func(f iceberg.NestedField) bool { return f.Name == got.Name }) {
			faults = append(faults, fmt.Sprintf("column %s is required, and we know no value for it", got.Name))
		}
	}
	if len(faults) > 0 {
		return nil, fmt.Errorf("%w: table %s: %s; mend the table, or name a new lake.database", sinks.ErrRefused, s.name, strings.Join(faults, "; "))
	}
	return missing, nil
}

// sameType compares but for ids and docs.
func sameType(a, b iceberg.Type) bool {
	al, ok := a.(*iceberg.ListType)
	if !ok {
		as, ok := a.(*iceberg.StructType)
		if !ok {
			return a.Equals(b)
		}
		bs, ok := b.(*iceberg.StructType)
		return ok && slices.EqualFunc(as.FieldList, bs.FieldList, func(x, y iceberg.NestedField) bool {
			return x.Name == y.Name && x.Required == y.Required && sameType(x.Type, y.Type)
		})
	}
	bl, ok := b.(*iceberg.ListType)
	return ok && al.ElementRequired == bl.ElementRequired && sameType(al.Element, bl.Element)
}

// addColumns may race with another node that does the same.
func (l *Lake) addColumns(ctx context.Context, s *shape, missing []iceberg.NestedField) error {
	return l.retry(ctx, s, func(t *table.Table) (*table.Transaction, error) {
		missing, err := s.compare(t.Schema())
		if err != nil || len(missing) == 0 {
			return nil, err
		}
		txn := t.NewTransaction()
		update := txn.UpdateSchema(true, false)
		for _, f := range missing {
			l.log.Info("the lake's table gains a column", "table", s.name, "column", f.Name)
			update.AddColumn([]string{f.Name}, f.Type, f.Doc, false, nil)
		}
		if err := update.Commit(); err != nil {
			return nil, fmt.Errorf("table %s: add columns: %w", s.name, err)
		}
		return txn, nil
	})
}

func (l *Lake) ensureDatabase(ctx context.Context) error {
	ok, err := l.catalog.CheckNamespaceExists(ctx, table.Identifier{l.database})
	if err != nil || ok {
		return err
	}
	err = l.catalog.CreateNamespace(ctx, table.Identifier{l.database}, iceberg.Properties{propertyNamespace: string(l.namespace)})
	if errors.Is(err, catalog.ErrNamespaceAlreadyExists) {
		return nil
	}
	return err
}
