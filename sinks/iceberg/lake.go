package iceberg

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/apache/iceberg-go/catalog"
	"github.com/apache/iceberg-go/table"

	"taximeter/checkpoint"
	"taximeter/schemas"
	"taximeter/sinks"
)

// Lake is all tables of one taximeter namespace. It is a sinks.Sink; its methods may run at
// once, in any number of processes.
type Lake struct {
	cfg       Config
	namespace checkpoint.Namespace
	database  string
	location  string // "" = the catalog decides
	source    Source
	log       *slog.Logger
	now       func() time.Time

	onStep   func(table string) // see OnStep; nil = nobody hears
	catalog  catalog.Catalog
	reaching func(context.Context) context.Context // for whatever touches tables; see reaching
	close    func() error

	telemetry           *tableOf[raw[schemas.TelemetryRecord]]
	rides               *tableOf[raw[schemas.RideRecord]]
	payments            *tableOf[raw[schemas.PaymentRecord]]
	windows, windowHist *tableOf[result[schemas.Window]]
	bills, billHist     *tableOf[result[schemas.Bill]]
	verdicts            *tableOf[verdictRow]
}

// Open connects to the catalog and makes the tables what they should be: missing ones are
// created, missing columns added, others refused with sinks.ErrRefused.
func Open(ctx context.Context, cfg Config, namespace checkpoint.Namespace, source Source, log *slog.Logger) (*Lake, error) {
	l, err := connect(ctx, cfg, namespace, source, log)
	if err != nil {
		return nil, err
	}
	if err := l.prepare(l.reaching(ctx)); err != nil {
		return nil, errors.Join(fmt.Errorf("lake: %w", err), l.Close())
	}
	return l, nil
}

// Existing connects to a lake to look at it or to maintain it. It changes no table and makes
// none: one that is missing, or another namespace's, is an error.
func Existing(ctx context.Context, cfg Config, namespace checkpoint.Namespace, log *slog.Logger) (*Lake, error) {
	if kind, file, err := cfg.catalogKind(); err == nil && kind == catalogSQLite {
		if _, err := os.Stat(file); err != nil {
			return nil, fmt.Errorf("no lake here: %w", err)
		}
	}
	l, err := connect(ctx, cfg, namespace, nil, log)
	if err != nil {
		return nil, err
	}
	for _, s := range l.shapes() {
		t, err := l.load(l.reaching(ctx), s)
		if err == nil {
			err = l.owned(s, t)
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("lake: %w", err), l.Close())
		}
	}
	return l, nil
}

func connect(ctx context.Context, cfg Config, namespace checkpoint.Namespace, source Source, log *slog.Logger) (*Lake, error) {
	if faults := cfg.Validate(); len(faults) > 0 {
		return nil, fmt.Errorf("%w: %s", sinks.ErrRefused, strings.Join(faults, "\n"))
	}
	c, close, err := openCatalog(ctx, cfg)
	if err != nil {
		return nil, err
	}
	l := newLake(cfg, namespace, source, log, c, close)
	if l.reaching, err = reaching(ctx, cfg.Warehouse.S3); err != nil {
		return nil, errors.Join(err, close())
	}
	if kind, _, _ := cfg.catalogKind(); kind != catalogREST {
		if l.location, err = cfg.Warehouse.location(); err != nil {
			return nil, errors.Join(err, close())
		}
	}
	return l, nil
}

func newLake(cfg Config, namespace checkpoint.Namespace, source Source, log *slog.Logger, c catalog.Catalog, close func() error) *Lake {
	return &Lake{cfg: cfg, namespace: namespace, database: cfg.Database, source: source, log: log, now: time.Now, catalog: c, close: close, reaching: asItIs,
		telemetry: telemetryTable(), rides: rideTable(), payments: paymentTable(),
		windows:    windowTable(TableWindows, "The aggregate that stands of each trip and five minutes.", []string{columnTrip, columnWindowStart}),
		windowHist: windowTable(TableWindowVersions, "Every version of every aggregate.", nil),
		bills:      billTable(TableBills, "The bill that stands of each trip.", []string{columnTrip}),
		billHist:   billTable(TableBillVersions, "Every version of every bill.", nil),
		verdicts:   verdictTable()}
}

func (l *Lake) prepare(ctx context.Context) error {
	if err := l.ensureDatabase(ctx); err != nil {
		return fmt.Errorf("database %s: %w", l.database, err)
	}
	for _, s := range l.shapes() {
		if err := l.ensure(ctx, s); err != nil {
			return err
		}
	}
	return nil
}

// shapes lists the tables in the order in which they are committed: the verdicts last.
func (l *Lake) shapes() []*shape {
	return []*shape{&l.telemetry.shape, &l.rides.shape, &l.payments.shape, &l.windowHist.shape, &l.windows.shape, &l.billHist.shape, &l.bills.shape, &l.verdicts.shape}
}

// takenBack lists the tables that a restore takes rows from.
func (l *Lake) takenBack() []*shape {
	return []*shape{&l.telemetry.shape, &l.rides.shape, &l.payments.shape, &l.verdicts.shape}
}

// OnStep has do called before each table of a commit goes to the catalog, and with "" once
// all are there, for harnesses in which a process dies there. It must be said before the
// first commit.
func (l *Lake) OnStep(do func(table string)) { l.onStep = do }

func (l *Lake) step(table string) {
	if l.onStep != nil {
		l.onStep(table)
	}
}

// Close ends the connection to the catalog; the source is its maker's to close.
func (l *Lake) Close() error { return l.close() }

func (l *Lake) identifier(s *shape) table.Identifier { return table.Identifier{l.database, s.name} }

func (l *Lake) load(ctx context.Context, s *shape) (*table.Table, error) {
	t, err := l.catalog.LoadTable(ctx, l.identifier(s))
	if err != nil {
		return nil, fmt.Errorf("load table %s: %w", s.name, err)
	}
	return t, nil
}
