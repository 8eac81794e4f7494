package analytics_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"taximeter/schemas"
	"taximeter/sinks/analytics"
)

// fleet is frota_minuto by hand.
func fleet(trips []analytics.Trip) []analytics.Minute {
	type key struct {
		at               schemas.Millis
		region, currency string
	}
	all := map[key]*analytics.Minute{}
	minute := func(t analytics.Trip, at schemas.Millis) *analytics.Minute {
		k := key{at / 60_000 * 60_000, t.Region, t.Currency}
		if all[k] == nil {
			all[k] = &analytics.Minute{At: k.at, Region: k.region, Currency: k.currency}
		}
		return all[k]
	}
	for _, t := range trips {
		if t.Start != schemas.NoTime && t.Phase != "cancelada" {
			minute(t, t.Start).Started++
		}
		if t.End == schemas.NoTime {
			continue
		}
		m := minute(t, t.End)
		switch t.Phase {
		case "encerrada":
			m.Ended++
		case "cancelada":
			m.Cancelled++
		}
		if t.BillVersion > 0 && t.Motive != schemas.MotiveVoided {
			m.Billed++
		}
		m.Amount += t.Amount
		m.DistanceMM += t.DistanceMM
	}
	var sorted []analytics.Minute
	for _, m := range all {
		sorted = append(sorted, *m)
	}
	slices.SortFunc(sorted, func(a, b analytics.Minute) int {
		return strings.Compare(fmt.Sprint(a.At, a.Region, "/", a.Currency), fmt.Sprint(b.At, b.Region, "/", b.Currency))
	})
	return sorted
}

func testFleet(t *testing.T, d database) {
	db := open(t, d.fresh(t))
	ended, cancelled, running, free := trip("a", 1234), trip("b", 500), trip("c", 0), trip("d", 0)
	cancelled.Phase, cancelled.Start, cancelled.DistanceMM, cancelled.Motive = "cancelada", cancelled.End, 0, schemas.MotiveCancelled
	running.Phase, running.End, running.BillVersion, running.Currency = "em_curso", schemas.NoTime, 0, ""
	free.Phase, free.Start, free.DistanceMM, free.BillVersion, free.Currency = "cancelada", free.End, 0, 0, ""
	commit(t, db, at(0), at(1), item(1, []schemas.TripSummary{ended, cancelled, running, free}))
	began, stopped := noon, noon+600_000
	want := []analytics.Minute{
		{At: began, Region: "recife", Currency: "", Started: 1},
		{At: began, Region: "recife", Currency: "BRL", Started: 1},
		{At: stopped, Region: "recife", Currency: "", Cancelled: 1},
		{At: stopped, Region: "recife", Currency: "BRL", Ended: 1, Cancelled: 1, Billed: 2, Amount: 1734, DistanceMM: 5_000_001},
	}
	wantRows(t, "frota_minuto", minutes(t, db, noon, noon+900_000), want)
	wantRows(t, "frota_minuto", minutes(t, db, noon+60_000, stopped+60_000), want[2:])
	ended.End += 60_000
	ended.Region, ended.Amount, ended.BillVersion = "olinda", 2000, 2
	cancelled.Amount, cancelled.BillVersion, cancelled.Motive = 0, 2, schemas.MotiveVoided
	commit(t, db, at(1), at(2), item(2, []schemas.TripSummary{ended, cancelled}))
	want = []analytics.Minute{
		{At: began, Region: "olinda", Currency: "BRL", Started: 1},
		{At: began, Region: "recife", Currency: "", Started: 1},
		{At: stopped, Region: "recife", Currency: "", Cancelled: 1},
		{At: stopped, Region: "recife", Currency: "BRL", Cancelled: 1},
		{At: stopped + 60_000, Region: "olinda", Currency: "BRL", Ended: 1, Billed: 1, Amount: 2000, DistanceMM: 5_000_001},
	}
	wantRows(t, "frota_minuto", minutes(t, db, noon, noon+900_000), want)
}

func testFleetWindows(t *testing.T, d database) {
	db := open(t, d.fresh(t))
	a, b := trip("a", 100), trip("b", 100)
	b.Region = "olinda"
	commit(t, db, at(0), at(1), item(1, []schemas.TripSummary{a, b}, window("a", noon, 1), window("b", noon, 1), window("b", noon+300_000, 1), window("?", noon, 1)))
	b.Region = "recife"
	commit(t, db, at(1), at(2), item(2, []schemas.TripSummary{b}, window("b", noon, 2)))
	want := []analytics.FleetWindow{
		{Start: noon, Region: "", Trips: 1, Points: 12, Rejected: 1, DistanceMM: 1_500_000, TimeMS: 110_000},
		{Start: noon, Region: "recife", Trips: 2, Points: 24, Rejected: 2, DistanceMM: 3_000_000, TimeMS: 220_000},
		{Start: noon + 300_000, Region: "recife", Trips: 1, Points: 12, Rejected: 1, DistanceMM: 1_500_000, TimeMS: 110_000},
	}
	for from, want := range map[schemas.Millis][]analytics.FleetWindow{noon: want, noon + 1: want[2:]} {
		var got []analytics.FleetWindow
		for w, err := range db.FleetWindows(t.Context(), from, noon+600_000) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, w)
		}
		wantRows(t, "frota_janela", got, want)
	}
}
