package tariff

import (
	"slices"

	"taximeter/schemas"
)

// NoRevision is the revision of an empty catalogue.
const NoRevision schemas.Offset = -1

// Key names one tariff version: the record key of corridas.tarifas.
type Key struct {
	Region, Category string
	ValidFrom        schemas.Millis
}

// KeyOf is the key of a tariff.
func KeyOf(t schemas.Tariff) Key { return Key{t.Region, t.Category, t.ValidFrom} }

// Catalogue belongs to one goroutine. The zero value is empty and ready.
type Catalogue struct {
	slots    map[slotKey][]version // ascending by (ValidFrom, revision)
	revision schemas.Offset
	known    bool
}

type slotKey struct{ region, category string }

// version is what one revision said of one key; a nil tariff withdraws it.
type version struct {
	validFrom schemas.Millis
	revision  schemas.Offset
	tariff    *schemas.Tariff
}

// Revision is the newest revision taken, or NoRevision.
func (c *Catalogue) Revision() schemas.Offset {
	if !c.known {
		return NoRevision
	}
	return c.revision
}

// Put takes a tariff as of a revision. Putting the same revision again changes nothing.
func (c *Catalogue) Put(revision schemas.Offset, t schemas.Tariff) {
	c.put(revision, KeyOf(t), &t)
}

// Withdraw takes a tombstone: from this revision on the key does not exist.
func (c *Catalogue) Withdraw(revision schemas.Offset, k Key) { c.put(revision, k, nil) }

func (c *Catalogue) put(revision schemas.Offset, k Key, t *schemas.Tariff) {
	if c.slots == nil {
		c.slots = make(map[slotKey][]version)
	}
	slot := slotKey{k.Region, k.Category}
	at, found := slices.BinarySearchFunc(c.slots[slot], version{validFrom: k.ValidFrom, revision: revision}, compare)
	if !found {
		c.slots[slot] = slices.Insert(c.slots[slot], at, version{k.ValidFrom, revision, t})
	}
	c.revision, c.known = max(c.Revision(), revision), true
}

func compare(a, b version) int {
	switch {
	case a.validFrom != b.validFrom:
		if a.validFrom < b.validFrom {
			return -1
		}
		return 1
	case a.revision < b.revision:
		return -1
	case a.revision > b.revision:
		return 1
	}
	return 0
}

// Place is the region and category of a trip; either may be unknown.
type Place struct {
	Region, Category       string
	HasRegion, HasCategory bool
}

// Find is the tariff of a trip that starts at an instant, in the catalogue as of a
// revision: the newest version in force for (region, category), else (region, any),
// else (any, any). Nil means that there is none.
func (c *Catalogue) Find(p Place, start schemas.Millis, asOf schemas.Offset) *schemas.Tariff {
	if p.HasRegion && p.HasCategory {
		if t := c.inForce(slotKey{p.Region, p.Category}, start, asOf); t != nil {
			return t
		}
	}
	if p.HasRegion {
		if t := c.inForce(slotKey{p.Region, schemas.Any}, start, asOf); t != nil {
			return t
		}
	}
	return c.inForce(slotKey{schemas.Any, schemas.Any}, start, asOf)
}

func (c *Catalogue) inForce(k slotKey, start schemas.Millis, asOf schemas.Offset) *schemas.Tariff {
	versions := c.slots[k]
	for i := len(versions) - 1; i >= 0; i-- {
		v := versions[i]
		if v.validFrom > start || v.revision > asOf {
			continue
		}
		if v.tariff != nil {
			return v.tariff
		}
		// Withdrawn as of asOf: what older revisions said of this very key is gone too.
		for i > 0 && versions[i-1].validFrom == v.validFrom {
			i--
		}
	}
	return nil
}

// Entry is one revision of one key, for snapshots.
type Entry struct {
	Revision schemas.Offset
	Key      Key
	Tariff   *schemas.Tariff // nil = withdrawn
}

// Entries lists the whole history, ascending by revision.
func (c *Catalogue) Entries() []Entry {
	var all []Entry
	for k, versions := range c.slots {
		for _, v := range versions {
			all = append(all, Entry{v.revision, Key{k.region, k.category, v.validFrom}, v.tariff})
		}
	}
	slices.SortFunc(all, func(a, b Entry) int { return int(a.Revision - b.Revision) })
	return all
}

// Take puts an entry of a snapshot.
func (c *Catalogue) Take(e Entry) { c.put(e.Revision, e.Key, e.Tariff) }
