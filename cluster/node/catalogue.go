package node

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"taximeter/actors/host"
	"taximeter/actors/ingest"
	"taximeter/actors/rule"
	"taximeter/actors/tariff"
	"taximeter/schemas"
	"taximeter/schemas/codec"
	"taximeter/schemas/edge"
	"taximeter/schemas/registry"
)

// catalogues follow the tariff and rule topics for all partitions. Tariffs are kept in
// full, so that a partition which starts later is told the same.
type catalogues struct {
	node    *Node
	tariffs *codec.Reader[schemas.Tariff]
	rules   *codec.Reader[schemas.Rule]

	// Guarded by node.mu.
	changes []host.TariffChange
	inForce map[string]schemas.Rule // by record key; the newest value
	book    *rule.Book
}

func newCatalogues(n *Node) (*catalogues, error) {
	book, err := rule.NewBook(nil, n.compile)
	return &catalogues{node: n, tariffs: codec.NewTariffReader(), rules: codec.NewRuleReader(),
		inForce: make(map[string]schemas.Rule), book: book}, err
}

// follow reads both topics to their end, then goes on in the background until the node ends.
func (c *catalogues) follow(ctx context.Context) error {
	ready := make(chan struct{}, 2)
	failed := make(chan error, 2)
	for topic, each := range map[string]func(ingest.Entry) error{schemas.TopicTariffs: c.tariff, schemas.TopicRules: c.rule} {
		feed := ingest.Catalogue{Client: c.node.cfg.Kafka.Options(), Topic: topic, Each: each, CaughtUp: func() { ready <- struct{}{} }}
		c.node.background(func() {
			err := c.node.persist(c.node.ctx, "catalogue "+topic, feed.Follow)
			if err != nil {
				failed <- err
			}
		})
	}
	for range 2 {
		select {
		case <-ready:
		case err := <-failed:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// tariff takes one record of the tariff topic. A bad one is told and left out: the tariffs
// before it stay in force.
func (c *catalogues) tariff(e ingest.Entry) error {
	change := &host.TariffChange{Revision: e.Offset}
	if e.Value == nil {
		key, ok := parseTariffKey(string(e.Key))
		if !ok {
			c.node.log.Error("tombstone in the tariff topic with a key that is no tariff's; left out", "key", string(e.Key), "offset", e.Offset)
			return nil
		}
		change.Key = key
	} else {
		t, err := read(c.node, c.tariffs, e)
		if errors.Is(err, errRefused) || err == nil && len(edge.CheckTariff(&t)) > 0 {
			c.node.log.Error("tariff refused; those before it stay in force", "key", string(e.Key), "offset", e.Offset, "err", err, "problems", edge.CheckTariff(&t))
			return nil
		}
		if err != nil {
			return err
		}
		change.Tariff, change.Key = &t, tariff.KeyOf(t)
	}
	c.node.mu.Lock()
	defer c.node.mu.Unlock()
	if n := len(c.changes); n > 0 && c.changes[n-1].Revision >= change.Revision {
		return nil // the topic is read again after a lost connection
	}
	c.changes = append(c.changes, *change)
	c.node.tellOwners(change)
	return nil
}

// rule takes one record of the rule topic.
func (c *catalogues) rule(e ingest.Entry) error {
	var r schemas.Rule
	if e.Value != nil {
		var err error
		if r, err = read(c.node, c.rules, e); errors.Is(err, errRefused) {
			c.node.log.Error("alert rule refused", "key", string(e.Key), "offset", e.Offset, "err", err)
			return nil
		} else if err != nil {
			return err
		}
	}
	c.node.mu.Lock()
	defer c.node.mu.Unlock()
	if e.Value == nil {
		delete(c.inForce, string(e.Key))
	} else {
		c.inForce[edge.RuleKey(&r)] = r
	}
	keys := slices.Sorted(maps.Keys(c.inForce))
	rules := make([]schemas.Rule, 0, len(keys))
	for _, k := range keys {
		rules = append(rules, c.inForce[k])
	}
	book, problems := rule.Compile(rules, c.node.compile)
	for _, p := range problems {
		c.node.log.Error("alert rule refused; an older version stays in force", "problem", p.String())
	}
	c.book = book
	c.node.tellOwners(&host.RulesChange{Book: book})
	return nil
}

// errRefused is a record that is at fault itself, so that reading it again helps nothing.
var errRefused = errors.New("refused")

// unknownFor is how old a record must be for a schema that the registry does not know to be its fault:
// it may have come sooner than to the registry's replica that was asked, and nodes that differ in their
// tariffs would bill differently.
const unknownFor = time.Minute

// read decodes a value, asking the registry for a schema that is new.
func read[T any](n *Node, r *codec.Reader[T], e ingest.Entry) (T, error) {
	t, err := r.Decode(e.Value)
	var unknown *codec.UnknownSchemaError
	if errors.As(err, &unknown) {
		schema, askErr := n.registry.SchemaByID(context.Background(), unknown.ID)
		if errors.Is(askErr, registry.ErrNotFound) && time.Since(e.At) > unknownFor {
			return t, fmt.Errorf("%w: %w", errRefused, askErr)
		}
		if askErr != nil {
			return t, askErr
		}
		if err := r.Learn(unknown.ID, schema); err != nil {
			return t, fmt.Errorf("%w: %w", errRefused, err)
		}
		t, err = r.Decode(e.Value)
	}
	if err != nil {
		return t, fmt.Errorf("%w: %w", errRefused, err)
	}
	return t, nil
}

// parseTariffKey reads regiao/categoria/vigenteDesde.
func parseTariffKey(s string) (tariff.Key, bool) {
	last := strings.LastIndexByte(s, '/')
	if last < 0 {
		return tariff.Key{}, false
	}
	from, err := strconv.ParseInt(s[last+1:], 10, 64)
	region, category, ok := strings.Cut(s[:last], "/")
	return tariff.Key{Region: region, Category: category, ValidFrom: schemas.Millis(from)}, ok && err == nil
}
