package admin

import (
	"context"
	"errors"

	"taximeter/actors/trip"
	"taximeter/schemas"
)

// Node is what the server asks. Every answer is at most a poll old.
type Node interface {
	// Trip and Explain are answered by the trip's owner between two batches. ErrNoTrip,
	// ErrMoving, or ctx's error.
	Trip(ctx context.Context, id schemas.TripID) (TripAnswer, error)
	Explain(ctx context.Context, id schemas.TripID) (trip.Explanation, error)
	Partitions() []PartitionStatus
	// Checkpoints shows as many of the newest manifests as asked for.
	Checkpoints(ctx context.Context, recent int) (CheckpointStatus, error)
	// Cluster tells whom this node sees and what the chain gives to whom.
	Cluster() ClusterStatus
	// Ready is nil when the node does its work, else why not yet.
	Ready() error
	// Drain asks the node to hand over what it runs and to end. ErrUnguarded.
	Drain() error
}

// ErrUnguarded is a node whose API answers whoever reaches it: nobody may end it by that.
var ErrUnguarded = errors.New("whoever reaches this API could end the node: set admin.token or admin.tokenFile, or send the process SIGTERM, which does the same")

// ErrNoTrip is a trip that its owner does not know.
var ErrNoTrip = errors.New("no such trip")

// ErrMoving is a partition without a running owner at this moment.
var ErrMoving = errors.New("the trip's partition is being started or moved; ask again in a few seconds")

// TripAnswer is GET /trips/{id}.
type TripAnswer struct {
	trip.View
	Partition   schemas.Partition                 `json:"particao"`
	Owner       string                            `json:"dono"` // node that runs the partition
	Watermark   schemas.Millis                    `json:"watermark"`
	NextOffsets [schemas.NumInputs]schemas.Offset `json:"proximosOffsets"` // of telemetria, eventos, pagamentos
}

// Elsewhere is the state of a partition that another node runs.
const Elsewhere = "elsewhere"

// PartitionStatus is one element of GET /partitions.
type PartitionStatus struct {
	Partition   schemas.Partition                 `json:"particao"`
	Owner       string                            `json:"dono"`
	Epoch       int64                             `json:"epoca"`
	State       string                            `json:"estado"` // starting, running, failed, stopped; elsewhere = another node's, as of its newest checkpoint
	Error       string                            `json:"erro,omitempty"`
	Watermark   schemas.Millis                    `json:"watermark"`
	FirstOffset [schemas.NumInputs]schemas.Offset `json:"primeirosOffsets"`
	NextOffset  [schemas.NumInputs]schemas.Offset `json:"proximosOffsets"`
	EndOffset   [schemas.NumInputs]schemas.Offset `json:"finsDosTopicos"` // -1 = not known
	Waiting     [schemas.NumInputs]string         `json:"esperando"`      // why a topic stands still; "" = it does not
	Stopped     [schemas.NumInputs]string         `json:"paradoPor"`      // why it does so until an operator decides; "" = it does not
	Missing     [schemas.NumInputs]int64          `json:"faltam"`         // records that the log no longer holds
	Control     int64                             `json:"controle"`
	Skipped     [schemas.NumInputs]int64          `json:"pulados"` // offsets left out by an operator; negative: read again
	Verdicts    map[string]int64                  `json:"vereditos"`
	Anomalies   map[string]int64                  `json:"anomalias"`
	Trips       int                               `json:"viagensEmMemoria"`
	Unsealed    Waiting                           `json:"aguardandoCheckpoint"`
	Alerts      int                               `json:"alertasPorEnviar"`
	Published   int64                             `json:"publicadoAte"`         // newest manifest number whose outbox is public
	Pending     int                               `json:"publicacoesPendentes"` // outboxes of committed checkpoints that are not public
	SealPauseMS float64                           `json:"pausaDoCorteMs"`
}

// Waiting is what no committed checkpoint holds yet.
type Waiting struct {
	Bills   int `json:"faturas"`
	Windows int `json:"janelas"`
	Letters int `json:"dlq"`
}

// CheckpointStatus is GET /checkpoints.
type CheckpointStatus struct {
	Namespace string           `json:"namespace"`
	Tip       int64            `json:"ultimo"`
	AgeS      float64          `json:"idadeS"` // since the newest checkpoint was made
	LastError string           `json:"ultimoErro,omitempty"`
	Sinks     []SinkStatus     `json:"destinos,omitempty"` // beside Kafka
	Recent    []CheckpointView `json:"recentes"`           // newest first
}

// SinkStatus is how far one sink of tables has come, as this node knows.
type SinkStatus struct {
	Name  string `json:"nome"`
	Held  int64  `json:"ate"`      // newest manifest number up to which it lacks nothing
	Feeds bool   `json:"alimenta"` // this node is the one that feeds it
	Error string `json:"ultimoErro,omitempty"`
}

// CheckpointView is one manifest.
type CheckpointView struct {
	Number    int64          `json:"numero"`
	Lineage   int64          `json:"linhagem"`
	Cause     string         `json:"causa"`
	CreatedAt schemas.Millis `json:"criadoEm"`
	CreatedBy string         `json:"criadoPor"`
	Sealed    int            `json:"particoesCortadas"` // partitions whose entry it made
	Pending   int            `json:"publicacoesPendentes"`
	Files     int            `json:"arquivos"`
	Bytes     int64          `json:"bytes"` // of the files cited, shared ones counted once
}

// ClusterStatus is GET /cluster: one node's view. Views may differ for some seconds; the
// manifest chain, whose newest number it names, is what counts.
type ClusterStatus struct {
	Node       string         `json:"no"`      // who answers
	Life       int64          `json:"vida"`    // of its process, which no other has
	Alone      bool           `json:"sozinho"` // configured without a cluster
	Joined     bool           `json:"entrou"`  // has met another node, or was told to begin
	Manifest   int64          `json:"manifesto"`
	Protocol   int            `json:"protocolo"`            // that the namespace speaks
	Error      string         `json:"erro,omitempty"`       // why this node cannot follow the namespace, and runs nothing
	Revoked    int64          `json:"tomadas"`              // runs that others took from this node since it started, and that found out
	Ended      int64          `json:"transacoesEncerradas"` // that Kafka had left open, since this node started
	Members    []MemberStatus `json:"membros"`
	Partitions []Placement    `json:"particoes"`
	Copies     Copies         `json:"copias"`
}

// Copies is what this node keeps of partitions that others run, to take them over without
// fetching their state.
type Copies struct {
	Bytes  int64                         `json:"bytes"`
	Behind map[schemas.Partition]float64 `json:"atrasoS"` // seconds since there is a newer checkpoint; 0 = it is the newest
}

// MemberStatus is one node of the cluster.
type MemberStatus struct {
	ID      string `json:"no"`
	Member  bool   `json:"membro"` // by the chain
	Duty    string `json:"estado"` // serving, draining, resigned, absent
	Version string `json:"versao"`
	Speaks  [2]int `json:"protocolos"` // lowest and highest that it speaks
	Weight  int    `json:"peso"`
	Zone    string `json:"zona,omitempty"`
	Admin   string `json:"admin"`
	Owned   int    `json:"particoes"` // that the chain gives to it
}

// Placement is where one partition is and belongs.
type Placement struct {
	Partition schemas.Partition `json:"particao"`
	Owner     string            `json:"dono"` // "" = nobody
	Epoch     int64             `json:"epoca"`
	Target    string            `json:"destino,omitempty"` // where it is to move; "" = nowhere
	Made      int64             `json:"checkpoint"`        // that its newest state is of
	Standbys  []Standby         `json:"reservas,omitempty"`
}

// Standby is a node that holds the files of one of a partition's checkpoints. Those of other
// nodes are known by their heartbeats, some seconds late.
type Standby struct {
	Node string `json:"no"`
	Made int64  `json:"checkpoint"` // equal to the placement's: a take-over fetches nothing
}
