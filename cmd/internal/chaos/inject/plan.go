package inject

import (
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Variable is the environment variable that holds a plan, such as
// "crash=commit-after:2 store=0.02 seed=7". Every part may be left out.
const Variable = "TAXIMETER_CHAOS"

// Point is a place in a node's work at which it can die.
type Point string

const (
	Restore     Point = "restore"       // before a file of a state is read back
	Upload      Point = "upload"        // the cut is taken, none or some of its files are up
	UploadAfter Point = "upload-after"  // one more file is up
	Outbox      Point = "outbox"        // the state is up, its outbox is not
	OutboxAfter Point = "outbox-after"  // the outbox is up, no seal cites it
	Offer       Point = "offer"         // all is up but the seal
	OfferAfter  Point = "offer-after"   // the seal is up, no manifest holds it
	Commit      Point = "commit"        // before the put of a manifest
	CommitAfter Point = "commit-after"  // the manifest is in the chain, nobody was told
	Publish     Point = "publish"       // an outbox is read, nothing of it is sent
	Fenced      Point = "fenced"        // a transactional id was just taken
	Sent        Point = "sent"          // records of a transaction are on the way
	SentAfter   Point = "sent-after"    // they are in the log, the transaction is open
	EndTxn      Point = "end"           // the end of the transaction is on the way
	EndTxnAfter Point = "end-after"     // the transaction is over, nobody was told
	ReadBack    Point = "read-back"     // a marker or a log of alerts was read
	Garbage     Point = "garbage"       // before a file is deleted
	StubAfter   Point = "manifest-stub" // an old manifest was replaced
)

// Points are all of them.
func Points() []Point {
	return []Point{Restore, Upload, UploadAfter, Outbox, OutboxAfter, Offer, OfferAfter, Commit, CommitAfter, Publish,
		Fenced, Sent, SentAfter, EndTxn, EndTxnAfter, ReadBack, Garbage, StubAfter}
}

// Plan is what shall go wrong in one life of a process.
type Plan struct {
	Crash Point // "" = none
	Nth   int   // at which passing of the point, from 1
	// Freeze stops the process there (SIGSTOP) until somebody wakes it, instead of ending it.
	Freeze bool
	// StoreFaults is the share of the store's calls that fail, half of them with their
	// effect, and half of the others are slow.
	StoreFaults float64
	Seed        uint64
	// Dark is the path of a file: while it is there, the store answers nothing.
	Dark string
	// Slow is the path of a file: while it is there, each write to the store, and each read of
	// a state's file, takes two seconds and one call in a hundred fails.
	Slow string
	// MemoryMB is what the heap is told to keep to; 0 = what the program decides.
	MemoryMB int64
	// Clock is the path of a file that tells by how much the machine's clock was set, such as
	// "3h" or "-3h"; without the file it is right.
	Clock string
}

// Armed is a plan at work in this process.
type Armed struct {
	plan   Plan
	mu     sync.Mutex // guards passed
	passed int
}

// Arm sets a plan to work.
func (p Plan) Arm() *Armed { return &Armed{plan: p} }

// FromEnvironment sets this process's plan to work; nil without one.
func FromEnvironment() (*Armed, error) {
	text, ok := os.LookupEnv(Variable)
	if !ok {
		return nil, nil
	}
	p, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", Variable, err)
	}
	return p.Arm(), nil
}

// Cramp lets the heap keep to the plan's memory.
func (a *Armed) Cramp() {
	if a.plan.MemoryMB > 0 {
		debug.SetMemoryLimit(a.plan.MemoryMB << 20)
	}
}

// Parse reads what String writes.
func Parse(text string) (p Plan, err error) {
	for _, part := range strings.Fields(text) {
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "crash", "freeze":
			p.Freeze = name == "freeze"
			point, nth, _ := strings.Cut(value, ":")
			p.Crash = Point(point)
			if p.Nth, err = strconv.Atoi(nth); err == nil && (p.Nth < 1 || !slices.Contains(append(Points(), LakePoints()...), p.Crash)) {
				err = fmt.Errorf("no such point")
			}
		case "store":
			p.StoreFaults, err = strconv.ParseFloat(value, 64)
		case "dark":
			p.Dark = value
		case "slow":
			p.Slow = value
		case "memory":
			p.MemoryMB, err = strconv.ParseInt(value, 10, 64)
		case "clock":
			p.Clock = value
		case "seed":
			p.Seed, err = strconv.ParseUint(value, 10, 64)
		default:
			err = fmt.Errorf("unknown")
		}
		if err != nil {
			return p, fmt.Errorf("%q: %w", part, err)
		}
	}
	return p, nil
}

func (p Plan) String() string {
	var parts []string
	if p.Crash != "" {
		what := "crash"
		if p.Freeze {
			what = "freeze"
		}
		parts = append(parts, fmt.Sprintf("%s=%s:%d", what, p.Crash, p.Nth))
	}
	if p.StoreFaults > 0 {
		parts = append(parts, fmt.Sprintf("store=%g", p.StoreFaults), fmt.Sprintf("seed=%d", p.Seed))
	}
	if p.Dark != "" {
		parts = append(parts, "dark="+p.Dark)
	}
	if p.Slow != "" {
		parts = append(parts, "slow="+p.Slow)
	}
	if p.MemoryMB > 0 {
		parts = append(parts, fmt.Sprintf("memory=%d", p.MemoryMB))
	}
	if p.Clock != "" {
		parts = append(parts, "clock="+p.Clock)
	}
	return strings.Join(parts, " ")
}

// LastWords begin what a process says when it comes to its plan's point.
const LastWords = "the fault harness ends it at "

// pass notes that the process is at a point, and does not return if it is to die there, or
// returns when it was frozen there and woken.
func (a *Armed) pass(at Point) {
	if a.plan.Crash != at {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.passed++; a.passed != a.plan.Nth {
		return
	}
	fmt.Fprintf(os.Stderr, "%s%s\n", LastWords, at)
	end := syscall.SIGKILL
	if a.plan.Freeze {
		end = syscall.SIGSTOP
	}
	if err := syscall.Kill(os.Getpid(), end); err != nil {
		panic(fmt.Sprintf("could not die at %s: %v", at, err))
	}
	if a.plan.Freeze {
		return
	}
	select {} // the lock stays held: nothing more gets past the point
}

// Wall is the machine's wall clock as the plan lets it be seen: the file of Plan.Clock says
// by how much somebody has set it.
func (a *Armed) Wall() time.Time {
	now := time.Now()
	if a.plan.Clock == "" {
		return now
	}
	text, err := os.ReadFile(a.plan.Clock)
	if err != nil {
		return now
	}
	by, err := time.ParseDuration(strings.TrimSpace(string(text)))
	if err != nil {
		return now // half written
	}
	return now.Round(0).Add(by) // without the monotonic reading, which nobody can set
}
