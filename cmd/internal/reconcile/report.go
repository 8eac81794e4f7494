package reconcile

import (
	"fmt"
	"maps"
	"slices"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

// Report is what was compared and what did not agree.
type Report struct {
	Namespace  checkpoint.Namespace `json:"namespace"`
	Checkpoint checkpoint.Number    `json:"checkpoint"` // as of which
	From       schemas.Millis       `json:"de"`         // trips that ended in [From, Until)
	Until      schemas.Millis       `json:"ate"`

	Trips map[string]int   `json:"viagens"` // by conciliacao
	Money map[string]Money `json:"valores"` // by currency

	Partitions []Partition `json:"particoes"`
	Lake       *Table      `json:"lago,omitempty"`
	Analytics  *Table      `json:"analitico,omitempty"`

	Differences []Difference `json:"diferencas"`
}

// Money are sums over the trips.
type Money struct {
	Billed   schemas.Cents `json:"faturado"`
	Captured schemas.Cents `json:"capturado"` // less what was refunded
}

// Partition is what one partition has consumed since the namespace began.
type Partition struct {
	Partition schemas.Partition  `json:"particao"`
	Offsets   int64              `json:"offsets"`
	Records   int64              `json:"registros"` // with a verdict
	Control   int64              `json:"controle"`
	Skipped   int64              `json:"pulados"`
	Next      checkpoint.Offsets `json:"proximosOffsets"`
	Behind    int64              `json:"atraso"` // records that the log holds beyond

	first    checkpoint.Offsets // where the partition began, ever
	verdicts [schemas.NumVerdicts]int64
}

// Table is a sink that was compared.
type Table struct {
	Checkpoint checkpoint.Number `json:"checkpoint"` // up to which it lacks nothing
	Rows       int64             `json:"linhas"`
	Compared   int64             `json:"comparadas"`
	Behind     int               `json:"atrasadas"` // partitions that it has not caught up with
	Partial    int               `json:"parciais"`  // partitions of which it holds only what came after it was switched on: no sums to compare
}

// Difference is one thing that does not agree.
type Difference struct {
	Kind      string            `json:"tipo"`
	Partition schemas.Partition `json:"particao"`
	TripID    schemas.TripID    `json:"tripId,omitempty"`
	Detail    string            `json:"detalhe"`
}

// Kinds of differences beside the words of a trip's conciliacao.
const (
	kindState     = "estado"       // the public bill or its reconciliation is not what the state says
	kindVerdicts  = "sem_veredito" // offsets consumed without a verdict
	kindLog       = "log"          // the log lacks what was not read yet
	kindLake      = "lago"
	kindAnalytics = "analitico"
)

// unsettled are the words of conciliacao that somebody must look into.
var unsettled = []string{"divergente", "nao_paga", "paga_sem_fatura", "sem_resumo"}

func (r *Report) differ(kind string, p schemas.Partition, trip schemas.TripID, format string, args ...any) {
	r.Differences = append(r.Differences, Difference{kind, p, trip, fmt.Sprintf(format, args...)})
}

// Kinds counts the differences, by kind in order.
func (r *Report) Kinds() (kinds []string, counts map[string]int) {
	counts = make(map[string]int)
	for _, d := range r.Differences {
		counts[d.Kind]++
	}
	return slices.Sorted(maps.Keys(counts)), counts
}
