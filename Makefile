# What a developer runs. CI runs .ci/run, which calls lint, test and integration.

SHELL := /bin/bash

# Without debug information the whole node links in half the time; stack traces keep their lines.
export GOFLAGS := $(GOFLAGS) -ldflags=-w

# Tools are pinned here and fetched through the module proxy; go.mod stays free of them.
STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
GOLANGCI    := github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0

SHARED := $(or $(TAXIMETER_SHARED),../shared)

.PHONY: bench-sinks bench-gate bench-scale lake-check bench-state model ordeal help chaos-cluster dev test integration bench bench-quick bench-peers chaos chaos-real chaos-cluster-real chaos-cluster-figures lint

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 24

dev: ## the whole system in one process, on a simulated city
	go build -o bin/taximeter ./cmd/taximeter
	@exec bin/taximeter dev

test: ## tests that need nothing but Go
	@[ -d "$(SHARED)" ] || echo "NOTE: no reference recordings at $(SHARED) (see TAXIMETER_SHARED): tests on real trips are left out"
	go test -race -timeout 9m ./...

# The packages that have tests against servers; `make test` has run all others. Most of their
# tests wait more than they compute, so more than one a core go at once.
integration: PACKAGES := $(shell grep -rl '^//go:build integration' --include=*_test.go . | xargs -n1 dirname | sort -u)
integration: ## tests against Kafka, S3, a REST catalog, PostgreSQL and ClickHouse; installs them into the user's cache
	@[ -n "$(PACKAGES)" ] || { echo "integration: no package has tests against servers: is this the root of the tree?" >&2; exit 1; }
	.ci/install
	.ci/with-servers go test -race -tags integration -parallel 4 -timeout 40m $(PACKAGES)

bench: ## the parts' benchmarks, then the whole path: cost in both shapes, latency at two rates (see bench/README.md)
	go test -run '^$$' -bench . -benchmem ./...
	go run ./bench/quick -events 2000000
	go run ./bench/quick -events 2000000 -shape tracking
	go run ./bench/latency -rate 750 -probes 100 -seconds 120
	go run ./bench/latency -rate 9000 -probes 250 -seconds 120

bench-sinks: EVENTS := 600000
bench-sinks: ROUNDS := 3
bench-sinks: ## EVENTS=600000 ROUNDS=3 ARGS=: CPU an event that lake and analytical table add, each in turn; closes with a JSON line
	go run ./bench/sinks -events $(EVENTS) -rounds $(ROUNDS) $(ARGS)

bench-state: ## what remembered events cost on disk, at checkpoints and in a recovery, up to ten million of them
	go run ./bench/state
	go run ./bench/state -shape mixed -remembered 1000000

bench-quick: ## what the processor costs per event, checked by the oracle; closes with a JSON line
	go run ./bench/quick

bench-gate: ## what CI holds the program to: allocations and CPU per event, results as the oracle's; under a minute
	go run ./bench/quick -events 300000 -limits bench/quick/limits.json

bench-scale: ## the meter's cost by live trips, remembered events, one hot trip and partitions; half an hour and 8 GB
	go run ./bench/scale

bench-peers: EVENTS := 2000000
bench-peers: ROUNDS := 5
bench-peers: WARM := 2m
bench-peers: HEAP := 3g
bench-peers: ## EVENTS=2000000 ROUNDS=5 WARM=2m HEAP=3g SYSTEMS= SHAPE=mixed: the same job in Flink and Kafka Streams; closes with a table
	.ci/install
	mvn -q -B -Dstyle.color=never -f bench/peers/pom.xml package
	.ci/with-servers go run ./bench/peers -events $(EVENTS) -rounds $(ROUNDS) -warm $(WARM) -heap $(HEAP) -systems "$(SYSTEMS)" -shape "$(or $(SHAPE),mixed)"

N    ?= 20
SEED ?= 1

# Which runs keep a lake and analytical tables: TABLES=1 all, TABLES=3 every third; they need Python.
TABLES ?= 0
READERS = $(if $(filter-out 0,$(TABLES)),-tables $(TABLES) -readers "$$(.ci/readers/install)")

# The same for runs that all do or all do not.
CHECKED = $(if $(filter-out 0,$(TABLES)),-tables -readers "$$(.ci/readers/install)")

chaos: ## N=20 SEED=1 TABLES=0: crash runs of real processes against a broker in process, checked by simulate; TABLES=1: with lake
	go build -tags chaos -o bin/chaos/ ./cmd/taximeter
	go build -o bin/chaos/harness ./cmd/internal/chaos/cmd
	bin/chaos/harness -taximeter bin/chaos/taximeter -n $(N) -seed $(SEED) $(READERS)

chaos-cluster: N := 3
chaos-cluster: SEED := 1
chaos-cluster: RUNS := 4
chaos-cluster: ## N=3 SEED=1 RUNS=4 ACTS= TABLES=0 ARGS=: clusters of N nodes under faults, in network namespaces if root (see docs/cluster.md)
	go build -tags chaos -o bin/chaos/ ./cmd/taximeter
	go build -o bin/chaos/cluster ./cmd/internal/chaos/clustercmd
	bin/chaos/cluster -taximeter bin/chaos/taximeter -nodes $(N) -seed $(SEED) -runs $(RUNS) -acts "$(ACTS)" $(CHECKED) $(ARGS)

chaos-cluster-real: N := 3
chaos-cluster-real: SEED := 1
chaos-cluster-real: ACTS := kill,freeze@60s,cut-off@60s,rolling
chaos-cluster-real: ## N=3 SEED=1 ACTS= TABLES=0: the same at 9,000 events a second on real Kafka and real S3
	.ci/install
	go build -tags chaos -o bin/chaos/ ./cmd/taximeter
	go build -o bin/chaos/cluster ./cmd/internal/chaos/clustercmd
	.ci/with-servers bin/chaos/cluster -real -rate 9000 -checkpoint 5s -taximeter bin/chaos/taximeter -nodes $(N) -seed $(SEED) -runs 1 -acts "$(ACTS)" $(CHECKED) $(ARGS)

STATES   := 100MB 1GB
STANDBYS := 1 0
REPEATS  := 20
chaos-cluster-figures: N := 3
chaos-cluster-figures: ## STATES="100MB 1GB" STANDBYS="1 0" REPEATS=20 N=3: take-over, moves, pauses and joins with that much state in the partitions of a node, as a table; an hour and 30 GB of disk
	go build -tags chaos -o bin/chaos/ ./cmd/taximeter
	go build -o bin/chaos/cluster ./cmd/internal/chaos/clustercmd
	@echo "| nodes | events | state | standbys | pause | samples | p50 | p99 | max | load |"
	@echo "|---|---|---|---|---|---|---|---|---|---|"
	@for state in $(STATES); do for standbys in $(STANDBYS); do \
	  bin/chaos/cluster -figures -taximeter bin/chaos/taximeter -nodes $(N) -runs 1 -rate 500 -checkpoint 5s -state $$state -standbys $$standbys -acts kill@1s:$(REPEATS),join $(ARGS) || exit; \
	done; done

chaos-real: ## N=20 SEED=1 TABLES=0: the same on real Kafka and real S3, installed into the user's cache
	.ci/install
	go build -tags chaos -o bin/chaos/ ./cmd/taximeter
	go build -o bin/chaos/harness ./cmd/internal/chaos/cmd
	.ci/with-servers bin/chaos/harness -real -parallel 2 -taximeter bin/chaos/taximeter -n $(N) -seed $(SEED) $(READERS)

FAULT ?= store-down
FOR   ?= 10m

ordeal: ## FAULT=store-down FOR=10m TABLES=0 DATABASE= ARGS=: a node lives through one long fault at the usual checkpoint interval (faults: chaos.Faults; DATABASE=postgres or clickhouse with TABLES=1)
	go build -tags chaos -o bin/chaos/ ./cmd/taximeter
	go build -o bin/chaos/ordeal ./cmd/internal/chaos/ordealcmd
	bin/chaos/ordeal -taximeter bin/chaos/taximeter -fault $(FAULT) -for $(FOR) $(CHECKED) $(if $(DATABASE),-database $(DATABASE)) $(ARGS)

lake-check: ## generated and real trips into lake and analytical tables, read by PyIceberg, ClickHouse and SQLite, compared with simulate
	go run ./cmd/internal/lakecheck/cmd -python "$$(.ci/readers/install)" -shared "$(SHARED)"

model: ## the protocol's formal models, with each rule left out once; a few minutes
	model/check

lint: ## format, vet, staticcheck, golangci-lint, import walls
	@unformatted=$$(git ls-files '*.go' | xargs gofmt -l); [ -z "$$unformatted" ] || { echo "not in gofmt form:"; echo "$$unformatted"; exit 1; }
	go vet ./...
	go vet -tags integration ./...
	go run $(STATICCHECK) ./...
	go run $(GOLANGCI) run ./...
	go test -count=1 .
