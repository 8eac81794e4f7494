package analytics

import (
	"context"
	"database/sql"
	"fmt"
	"iter"
	"strings"
	"time"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// Reader reads the tables and views as anyone can, by plain SQL.
type Reader struct {
	db *sql.DB
	at instant // how an instant is handed to the database
}

// Trip is a row of viagens.
type Trip struct {
	schemas.TripSummary
	Checkpoint checkpoint.Number
	UpdatedAt  schemas.Millis // by the clock of the node that wrote it
}

// Window is a row of janelas.
type Window struct {
	schemas.Window
	Checkpoint checkpoint.Number
	UpdatedAt  schemas.Millis
}

// Minute is the rows of frota_minuto of one key: what began and ended in one minute, in one region, of the
// trips billed in one currency ("" = not billed).
type Minute struct {
	At               schemas.Millis
	Region, Currency string
	Started          int64
	Ended            int64
	Cancelled        int64
	Billed           int64
	Amount           schemas.Cents
	DistanceMM       int64 // of the trips that ended
}

// FleetWindow is a row of frota_janela: what was driven in one region in [Start, + 5 min).
type FleetWindow struct {
	Start      schemas.Millis
	Region     string
	Trips      int64
	Points     int64
	Rejected   int64
	DistanceMM int64
	TimeMS     int64
}

// Trips yields every trip by id.
func (r *Reader) Trips(ctx context.Context) iter.Seq2[Trip, error] {
	return query(ctx, r, "SELECT "+columns(tripTable("viagens"))+" FROM viagens ORDER BY trip_id", scanTrip)
}

// Windows yields the windows that are still held, by start and trip.
func (r *Reader) Windows(ctx context.Context) iter.Seq2[Window, error] {
	return query(ctx, r, "SELECT "+columns(windowTable("janelas"))+" FROM janelas ORDER BY janela_inicio, trip_id", scanWindow)
}

// Minutes yields the fleet's minutes in [from, to), by minute, region and currency.
func (r *Reader) Minutes(ctx context.Context, from, to schemas.Millis) iter.Seq2[Minute, error] {
	return query(ctx, r, `SELECT minuto, regiao, moeda, SUM(iniciadas), SUM(encerradas), SUM(canceladas), SUM(faturadas), SUM(valor_centavos), SUM(distancia_mm)
		FROM frota_minuto WHERE minuto >= $1 AND minuto < $2 GROUP BY minuto, regiao, moeda ORDER BY minuto, regiao, moeda`, scanMinute, r.at(from), r.at(to))
}

// FleetWindows yields the fleet's windows that start in [from, to), by start and region.
func (r *Reader) FleetWindows(ctx context.Context, from, to schemas.Millis) iter.Seq2[FleetWindow, error] {
	return query(ctx, r, `SELECT janela_inicio, regiao, viagens, pontos, descartados, distancia_mm, tempo_ms
		FROM frota_janela WHERE janela_inicio >= $1 AND janela_inicio < $2 ORDER BY janela_inicio, regiao`, scanFleetWindow, r.at(from), r.at(to))
}

func columns(t table) string { return strings.Join(t.columns, ", ") }

// query yields what scan makes of each row; an error is the last pair.
func query[T any](ctx context.Context, r *Reader, text string, scan func(func(...any) error) (T, error), args ...any) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var zero T
		rows, err := r.db.QueryContext(ctx, text, args...)
		if err != nil {
			yield(zero, fmt.Errorf("query analytics: %w", err))
			return
		}
		defer func() { _ = rows.Close() }() // its error is that of rows.Err
		for rows.Next() {
			row, err := scan(rows.Scan)
			if err != nil {
				yield(zero, fmt.Errorf("read a row of analytics: %w", err))
				return
			}
			if !yield(row, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(zero, fmt.Errorf("query analytics: %w", err))
		}
	}
}

func scanTrip(scan func(...any) error) (t Trip, err error) {
	var amount sql.NullInt64
	err = scan(&t.TripID, &t.Phase, &t.Region, &t.Category, (*instantColumn)(&t.Start), (*instantColumn)(&t.End), &t.StartInferred,
		&t.DistanceMM, &t.DurationS, &t.Points, &t.Rejected, &t.BillVersion, &amount, &t.Currency, &t.Motive,
		&t.Reconciliation, &t.Checkpoint, (*instantColumn)(&t.UpdatedAt))
	t.Amount = schemas.Cents(amount.Int64)
	return t, err
}

func scanWindow(scan func(...any) error) (w Window, err error) {
	var first, last schemas.Millis
	var verdict string
	err = scan(&w.TripID, (*instantColumn)(&w.Start), &w.Version, &w.Points, &w.Rejected, &w.DistanceMM, &w.TimeMS,
		&w.MaxKmh, &w.MeanKmh, (*instantColumn)(&first), (*instantColumn)(&last), &verdict, &w.Checkpoint, (*instantColumn)(&w.UpdatedAt))
	if err != nil {
		return w, err
	}
	if first != schemas.NoTime {
		w.First, w.Last = &first, &last
	}
	return w, w.Verdict.UnmarshalText([]byte(verdict))
}

func scanMinute(scan func(...any) error) (m Minute, err error) {
	err = scan((*instantColumn)(&m.At), &m.Region, &m.Currency, &m.Started, &m.Ended, &m.Cancelled, &m.Billed, &m.Amount, &m.DistanceMM)
	return m, err
}

func scanFleetWindow(scan func(...any) error) (w FleetWindow, err error) {
	err = scan((*instantColumn)(&w.Start), &w.Region, &w.Trips, &w.Points, &w.Rejected, &w.DistanceMM, &w.TimeMS)
	return w, err
}

// instantColumn is an instant as the databases give it: milliseconds or a timestamp; NULL is
// NoTime.
type instantColumn schemas.Millis

// Scan implements sql.Scanner.
func (c *instantColumn) Scan(value any) error {
	switch v := value.(type) {
	case nil:
		*c = instantColumn(schemas.NoTime)
	case int64:
		*c = instantColumn(v)
	case time.Time:
		*c = instantColumn(v.UnixMilli())
	default:
		return fmt.Errorf("%T is not an instant", value)
	}
	return nil
}
