package letters

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"taximeter/schemas"
)

// Count is how many letters have something in common.
type Count struct {
	Of          string         `json:"of"` // the value of what they were counted by
	Letters     int64          `json:"letters"`
	Trips       int            `json:"trips"` // different ones
	First, Last schemas.Millis `json:"-"`
}

// By are the things that letters can be counted by.
var By = []string{"reason", "topic", "device", "schema", "day", "hour"}

// Counter counts letters by one of By.
type Counter struct {
	by    func(*Letter) string
	total int64
	count map[string]*Count
	trips map[string]map[schemas.TripID]struct{}
}

// NewCounter refuses what is none of By.
func NewCounter(by string) (*Counter, error) {
	c := &Counter{count: make(map[string]*Count), trips: make(map[string]map[schemas.TripID]struct{})}
	switch by {
	case "reason":
		c.by = func(l *Letter) string { return l.Reason.String() }
	case "topic":
		c.by = func(l *Letter) string {
			if l.Topic == nil {
				return "(a timer)"
			}
			return *l.Topic
		}
	case "device":
		c.by = func(l *Letter) string { return cmp.Or(l.Device, "(not told)") }
	case "schema":
		c.by = func(l *Letter) string {
			if l.Schema == 0 {
				return "(none)"
			}
			return strconv.Itoa(l.Schema)
		}
	case "day":
		c.by = func(l *Letter) string { return l.At.Time().Format(time.DateOnly) }
	case "hour":
		c.by = func(l *Letter) string { return l.At.Time().Format("2006-01-02 15h") }
	default:
		return nil, fmt.Errorf("letters cannot be counted by %q; write one of %s", by, strings.Join(By, ", "))
	}
	return c, nil
}

// Add counts a letter.
func (c *Counter) Add(l *Letter) {
	key := c.by(l)
	n := c.count[key]
	if n == nil {
		n = &Count{Of: key, First: l.At, Last: l.At}
		c.count[key], c.trips[key] = n, make(map[schemas.TripID]struct{})
	}
	c.total++
	n.Letters++
	n.First, n.Last = min(n.First, l.At), max(n.Last, l.At)
	if l.TripID != "" {
		c.trips[key][l.TripID] = struct{}{}
		n.Trips = len(c.trips[key])
	}
}

// Total is how many letters were counted.
func (c *Counter) Total() int64 { return c.total }

// Of is the count of one value.
func (c *Counter) Of(value string) int64 {
	if n := c.count[value]; n != nil {
		return n.Letters
	}
	return 0
}

// Counts are all counts, most letters first.
func (c *Counter) Counts() []Count {
	all := make([]Count, 0, len(c.count))
	for _, n := range c.count {
		all = append(all, *n)
	}
	slices.SortFunc(all, func(a, b Count) int { return cmp.Or(cmp.Compare(b.Letters, a.Letters), strings.Compare(a.Of, b.Of)) })
	return all
}
