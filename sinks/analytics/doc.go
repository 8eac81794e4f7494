// Package analytics keeps the tables that dashboards read: viagens (one row per trip), janelas
// (the windows of the last day), and views by region and minute over them. It is one
// sinks.Sink on three databases: SQLite, PostgreSQL and ClickHouse.
//
// A row is replaced by its key, and only by one of a later manifest (checkpoint_id); of one
// commit's rows the last wins. So a commit that is repeated, or that two nodes make at once,
// changes nothing, and a correction needs no counter-booking anywhere: what is summed is
// summed in views. Progress changes in the same transaction, or after the rows where there
// are none (ClickHouse).
//
// It must never compute a result, add to what a table holds, or write a row whose content
// depends on which node commits (but for atualizado_em).
//
// Start reading at db.go, then rows.go, then a backend: sqlite.go, postgres.go, clickhouse.go.
// The tables are in schema/, and explained in docs/analytics.md.
package analytics
