package chaos

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// waits gathers what the nodes tell of how long input that could be read had to wait, in
// partitions that stay where they are: taximeter_input_wait_seconds.
type waits struct {
	begun   bool
	before  map[string]histogram // of a process that lived already when this began
	last    map[string]histogram // by node, of its process now
	samples []time.Duration      // of processes that are gone, and in the end of all
	still   []time.Duration      // of those, since nothing happens any more
	quiet   bool
}

// histogram is how many samples were at most so long, by seconds.
type histogram map[float64]int64

// waitsEvery is how often it looks; a process takes with it what it has counted since.
const waitsEvery = 200 * time.Millisecond

// observe watches alerts until ctx ends, and waits from when the cluster is whole.
func (c *clusterRun) observe(ctx context.Context) <-chan error {
	ended := make(chan error, 1)
	c.waits = &waits{before: make(map[string]histogram), last: make(map[string]histogram)}
	watching := make(chan error, 1)
	if c.watch != nil {
		c.feeding.sent = c.watch.sent
		go func() { watching <- c.watch.run(ctx, c.world) }()
	} else {
		watching <- nil
	}
	go func() {
		select {
		case <-c.settled:
		case <-ctx.Done():
		}
		for pause(ctx, waitsEvery) {
			for _, m := range *c.fleet.roster.Load() {
				if m.away.Load() {
					continue
				}
				if h, err := c.fleet.waits(ctx, m); err == nil {
					c.waits.look(m.id, h)
				}
			}
			c.waits.begun = true
			select {
			case <-c.acted:
				c.waits.settle()
			default:
			}
		}
		c.waits.end()
		ended <- <-watching
	}()
	return ended
}

// look takes in what one node says. One that has counted less than before is another process.
func (w *waits) look(node string, now histogram) {
	was, known := w.last[node]
	switch all := math.Inf(1); {
	case !known && !w.begun:
		w.before[node] = now
	case known && now[all] < was[all]:
		w.gone(node)
	}
	w.last[node] = now
}

// gone takes what a process has counted since this began for samples, each as long as it was at most.
func (w *waits) gone(node string) {
	bounds := slices.Sorted(maps.Keys(w.last[node]))
	less := int64(0)
	for i, bound := range bounds {
		upTo := w.last[node][bound] - w.before[node][bound]
		if math.IsInf(bound, 1) { // no longer than twice the longest that is told apart
			bound = 2 * bounds[i-1]
		}
		into := &w.samples
		if w.quiet {
			into = &w.still
		}
		*into = append(*into, slices.Repeat([]time.Duration{time.Duration(bound * float64(time.Second))}, int(upTo-less))...)
		less = upTo
	}
	delete(w.last, node)
	delete(w.before, node)
}

// settle begins the time in which nothing happens.
func (w *waits) settle() {
	if w.quiet {
		return
	}
	now := maps.Clone(w.last)
	w.end()
	w.quiet, w.before, w.last = true, maps.Clone(now), now
}

func (w *waits) end() {
	for node := range maps.Clone(w.last) {
		w.gone(node)
	}
}

// waits asks a node for its histogram.
func (f *fleet) waits(ctx context.Context, m *member) (histogram, error) {
	ctx, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.admin+"/metrics", nil)
	if err != nil {
		return nil, err
	}
	response, err := f.client.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return readWaits(response.Body)
}

func readWaits(r io.Reader) (histogram, error) {
	h := make(histogram)
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		rest, ok := strings.CutPrefix(lines.Text(), `taximeter_input_wait_seconds_bucket{le="`)
		if !ok {
			continue
		}
		bound, count, _ := strings.Cut(rest, `"} `)
		le, err := strconv.ParseFloat(bound, 64)
		if err != nil {
			return nil, fmt.Errorf("metric %q: %w", lines.Text(), err)
		}
		if h[le], err = strconv.ParseInt(count, 10, 64); err != nil {
			return nil, fmt.Errorf("metric %q: %w", lines.Text(), err)
		}
	}
	if len(h) == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return h, lines.Err()
}
