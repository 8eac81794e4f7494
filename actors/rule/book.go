package rule

import (
	"slices"
	"strings"

	"taximeter/schemas"
)

// Book is a set of compiled rules. It is immutable and may be shared by all partitions;
// the zero Book has no rules.
type Book struct {
	families []family // by ascending id
	kinds    kind     // all that some version is of
}

// family is all versions of one rule.
type family struct {
	id string
	// versions are by ascending validFrom, one per instant: each is in force from its
	// validFrom until the next one's.
	versions []version
	kinds    kind
}

// version is one compiled version of a rule. A version that is not active has no kind:
// the rule is off while it is in force.
type version struct {
	number     int
	kind       kind
	validFrom  schemas.Millis
	regions    []string // nil = all
	categories []string // nil = all

	limit      float64        // raioM, limiarM or limiarKmh
	duration   schemas.Millis // duracaoMin or segundos
	points     int32          // pontos
	expression Expression     // expressao
	text       string         // its text
}

// NewBook compiles all the rules, or none: the error tells every fault of every rule, and
// is of type Problems. compile may be nil if no rule is an expressao.
func NewBook(rules []schemas.Rule, compile ExpressionCompiler) (*Book, error) {
	book, problems := Compile(rules, compile)
	if len(problems) > 0 {
		return nil, problems
	}
	return book, nil
}

// Compile makes a book of the rule versions that are in order and tells what is wrong with
// the others: for rules that come over Kafka, where one bad version must not switch off
// the rest. Under a refused version the rule's older version stays in force.
//
// The caller gives at most one rule per (id, version): the last one of each key of the
// rules topic.
func Compile(rules []schemas.Rule, compile ExpressionCompiler) (*Book, Problems) {
	var problems Problems
	type key struct {
		id      string
		version int
	}
	seen := make(map[key]bool, len(rules))
	families := make(map[string]*family)
	for i := range rules {
		r := &rules[i]
		c := compilation{rule: r, index: i}
		v := c.version(compile)
		if k := (key{r.RuleID, r.Version}); seen[k] {
			c.problem("versao", "is given twice; write every change of a rule as a new version")
		} else {
			seen[k] = true
		}
		if len(c.problems) > 0 {
			problems = append(problems, c.problems...)
			continue
		}
		f := families[r.RuleID]
		if f == nil {
			f = &family{id: strings.Clone(r.RuleID)}
			families[r.RuleID] = f
		}
		f.versions = append(f.versions, v)
	}
	book := &Book{families: make([]family, 0, len(families))}
	for _, f := range families {
		f.order()
		book.families = append(book.families, *f)
		book.kinds |= f.kinds
	}
	slices.SortFunc(book.families, func(a, b family) int { return strings.Compare(a.id, b.id) })
	return book, problems
}

// order sorts the versions and drops those that a higher one hides at the same instant.
func (f *family) order() {
	slices.SortFunc(f.versions, func(a, b version) int {
		if a.validFrom != b.validFrom {
			if a.validFrom < b.validFrom {
				return -1
			}
			return 1
		}
		return b.number - a.number
	})
	f.versions = slices.CompactFunc(f.versions, func(a, b version) bool { return a.validFrom == b.validFrom })
	for i := range f.versions {
		f.kinds |= f.versions[i].kind
	}
}

// Len is the number of rules, whatever their number of versions.
func (b *Book) Len() int { return len(b.families) }

// inForce is the version that decides an event at t for this trip; nil = the rule is not
// yet in force, is off, or does not concern the trip's region or category.
func (f *family) inForce(t schemas.Millis, facts *Facts) *version {
	for i := len(f.versions) - 1; i >= 0; i-- {
		if v := &f.versions[i]; v.validFrom <= t {
			if v.kind == none || !v.concerns(facts) {
				return nil
			}
			return v
		}
	}
	return nil
}

// concerns reports whether the rule looks at trips of this region and category. A trip
// whose region is not known is in none.
func (v *version) concerns(f *Facts) bool {
	return (v.regions == nil || slices.Contains(v.regions, f.Region)) &&
		(v.categories == nil || slices.Contains(v.categories, f.Category))
}
