package cluster

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"taximeter/checkpoint"
	"taximeter/schemas"
)

func at(p int) schemas.Partition { return schemas.Partition(p) }

func ids(all string) (members []checkpoint.NodeID) {
	for _, r := range all {
		members = append(members, checkpoint.NodeID(r))
	}
	return members
}

func tipOf(members string) checkpoint.Manifest {
	var topics [schemas.NumInputs]string
	m := checkpoint.Genesis("test", topics, make([]checkpoint.Offsets, 2), checkpoint.Stamp{By: "a", Token: "t"})
	m.Members = ids(members)
	return m
}

func viewOf(self string, reachable string) View {
	v := View{Self: checkpoint.NodeID(self), Joined: true}
	for _, id := range ids(reachable) {
		v.Members = append(v.Members, Member{ID: id, Weight: 1})
	}
	return v
}

// deeds is what an observer did and saw, in seconds of its clock.
type deed struct {
	at   int
	what string // "put", "fail", or the mark seen on the dead node's heartbeat
}

func every(from, to int, what ...string) (all []deed) {
	for s := from; s <= to; s++ {
		for _, w := range what {
			all = append(all, deed{s, w})
		}
	}
	return all
}

func TestTakeOvers(t *testing.T) {
	for name, c := range map[string]struct {
		tip, self, reachable string
		deeds                []deed
		resigned             string
		alone                bool // not joined
		want                 string
	}{
		"majority takes at once":                     {tip: "abc", self: "a", reachable: "ab", want: "c"},
		"all in view":                                {tip: "abc", self: "a", reachable: "abc"},
		"a tie is no majority":                       {tip: "ab", self: "a", reachable: "a"},
		"a tie of four is none":                      {tip: "abcd", self: "a", reachable: "ab"},
		"minority waits":                             {tip: "abcde", self: "a", reachable: "ab"},
		"two of five gone":                           {tip: "abcde", self: "c", reachable: "bcd", want: "ae"},
		"only members of the tip count":              {tip: "abc", self: "a", reachable: "axyz"},
		"a stranger takes nothing":                   {tip: "abc", self: "x", reachable: "abx"},
		"who has not joined takes nothing":           {tip: "abc", self: "a", reachable: "ab", alone: true},
		"who resigned takes nothing":                 {tip: "abc", self: "a", reachable: "ab", resigned: "a"},
		"one that resigned is as dead":               {tip: "abc", self: "a", reachable: "abc", resigned: "c", want: "c"},
		"one that resigned is no part of a majority": {tip: "abc", self: "a", reachable: "ab", resigned: "b"},
		"stale heartbeat, minority":                  {tip: "ac", self: "a", reachable: "a", deeds: every(0, 10, "put", "m"), want: "c"},
		"stale heartbeat, alive in gossip":           {tip: "ac", self: "a", reachable: "ac", deeds: every(0, 10, "put", "m"), want: "c"},
		"never had a heartbeat":                      {tip: "ac", self: "a", reachable: "a", deeds: every(0, 10, "put", ""), want: "c"},
		"a second too early":                         {tip: "ac", self: "a", reachable: "a", deeds: every(0, 9, "put", "m")},
		"the heartbeat moved":                        {tip: "ac", self: "a", reachable: "a", deeds: append(every(0, 8, "put", "m"), every(9, 18, "put", "n")...)},
		"own puts never succeeded":                   {tip: "ac", self: "a", reachable: "a", deeds: every(0, 20, "fail", "m")},
		"a failed put begins anew": {tip: "ac", self: "a", reachable: "a",
			deeds: append(append(every(0, 8, "put", "m"), deed{9, "fail"}), every(10, 18, "put", "m")...)},
		"and then counts again": {tip: "ac", self: "a", reachable: "a",
			deeds: append(append(every(0, 8, "put", "m"), deed{9, "fail"}), every(10, 20, "put", "m")...), want: "c"},
		"asleep in between":           {tip: "ac", self: "a", reachable: "a", deeds: append(every(0, 2, "put", "m"), every(60, 66, "put", "m")...)},
		"only reads slept":            {tip: "ac", self: "a", reachable: "a", deeds: append(append(every(0, 2, "put", "m"), every(3, 59, "put")...), every(60, 66, "put", "m")...)},
		"reads stopped":               {tip: "ac", self: "a", reachable: "a", deeds: append(every(0, 5, "put", "m"), every(6, 30, "put")...)},
		"puts began late":             {tip: "ac", self: "a", reachable: "a", deeds: append(every(0, 5, "m"), every(6, 14, "put", "m")...)},
		"itself, by its own old mark": {tip: "a", self: "a", reachable: "a", deeds: every(0, 20, "put", "m")},
	} {
		w := NewWatch(10*time.Second, 3*time.Second)
		for _, d := range c.deeds {
			switch now := time.Duration(d.at) * time.Second; d.what {
			case "put":
				w.Put(now)
			case "fail":
				w.PutFailed()
			default:
				w.Saw("c", d.what, now)
			}
		}
		v := viewOf(c.self, c.reachable)
		v.Joined = !c.alone
		for i := range v.Members {
			if string(v.Members[i].ID) == c.resigned {
				v.Members[i].Duty = Resigned
			}
		}
		var got []checkpoint.NodeID
		for _, take := range TakeOvers(tipOf(c.tip), v, w) {
			got = append(got, take.Dead)
		}
		if !slices.Equal(got, ids(c.want)) {
			t.Errorf("%s: %v may be taken over, want %v", name, got, ids(c.want))
		}
	}
}

// TestTheChainAgrees: what TakeOvers lists, the chain's own rule accepts, and nothing else.
func TestTheChainAgrees(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tip := tipOf("abcde"[:rapid.IntRange(1, 5).Draw(t, "members")])
		v := View{Self: "a", Joined: true}
		w := NewWatch(3*time.Second, time.Second)
		for _, id := range ids("abcdex") {
			if id == v.Self || rapid.Bool().Draw(t, "reachable") {
				v.Members = append(v.Members, Member{ID: id, Weight: 1})
			}
		}
		for s := range rapid.IntRange(0, 6).Draw(t, "seconds") {
			now := time.Duration(s) * time.Second
			if rapid.IntRange(0, 9).Draw(t, "put") > 0 {
				w.Put(now)
			} else {
				w.PutFailed()
			}
			for _, id := range tip.Members {
				w.Saw(id, rapid.SampledFrom([]string{"m", "m", "m", "n"}).Draw(t, "mark"), now)
			}
		}
		listed := TakeOvers(tip, v, w)
		for _, dead := range tip.Members {
			take := checkpoint.TakeOver{Dead: dead, Observer: v.Self, Evidence: w.Evidence(dead, v)}
			_, err := checkpoint.Assign(tip, checkpoint.Limits{}, checkpoint.Stamp{By: "a", Token: "t"}, take)
			mine := slices.ContainsFunc(listed, func(x checkpoint.TakeOver) bool { return x.Dead == dead })
			if mine != (err == nil) {
				t.Fatalf("taking over %s: listed = %t, the chain says %v", dead, mine, err)
			}
		}
	})
}

func TestForgetBeginsAnew(t *testing.T) {
	w := NewWatch(5*time.Second, 3*time.Second)
	for s := range 10 {
		w.Put(time.Duration(s) * time.Second)
		w.Saw("c", "m", time.Duration(s)*time.Second)
	}
	w.Forget(ids("abc"))
	if got := w.unchanged("c"); got != 9*time.Second {
		t.Fatalf("a member's row was cut to %s", got)
	}
	w.Forget(ids("ab"))
	if got := w.unchanged("c"); got != 0 {
		t.Fatalf("one that left is still watched: %s", got)
	}
}

func TestRosterAndCoordinator(t *testing.T) {
	v := viewOf("b", "bcx")
	v.Lost = []Member{{ID: "a", Zone: "z"}}
	tip := tipOf("abcd")
	want := []Member{{ID: "a", Zone: "z", Duty: Absent}, {ID: "b", Weight: 1}, {ID: "c", Weight: 1}, {ID: "d", Duty: Absent}}
	if got := v.Roster(tip); !slices.Equal(got, want) {
		t.Errorf("roster %v, want %v", got, want)
	}
	for _, c := range []struct {
		b, c Duty
		want checkpoint.NodeID
	}{{Serving, Serving, "b"}, {Draining, Serving, "c"}, {Draining, Draining, "b"}, {Resigned, Draining, "c"}, {Resigned, Resigned, ""}} {
		v.Members[0].Duty, v.Members[1].Duty = c.b, c.c
		if got := v.Coordinator(tip); got != c.want {
			t.Errorf("b %s, c %s: coordinator %q, want %q", c.b, c.c, got, c.want)
		}
	}
}

func TestProtocolsInCommon(t *testing.T) {
	for _, c := range []struct {
		a, b Protocols
		want checkpoint.Protocol
		ok   bool
	}{{Protocols{1, 1}, Protocols{1, 1}, 1, true}, {Protocols{1, 2}, Protocols{2, 3}, 2, true}, {Protocols{1, 1}, Protocols{2, 3}, 0, false}} {
		if got, ok := c.a.Common(c.b); ok != c.ok || ok && got != c.want {
			t.Errorf("%v and %v: %d, %t", c.a, c.b, got, ok)
		}
		if _, ok := c.b.Common(c.a); ok != c.ok {
			t.Errorf("%v and %v differ by order", c.a, c.b)
		}
	}
}

func TestResigns(t *testing.T) {
	const patience = 10 * time.Second
	for _, c := range []struct {
		trouble Trouble
		want    bool
	}{{Trouble{}, false}, {Trouble{9 * time.Second, 9 * time.Second}, false}, {Trouble{Store: patience}, true}, {Trouble{Kafka: patience}, true}} {
		if got := c.trouble.Resigns(patience); got != c.want {
			t.Errorf("%+v: %t", c.trouble, got)
		}
	}
}

// A node that joins anew is not judged by the heartbeat that it left before.
func TestWhoJoinsAnewIsJudgedFromThen(t *testing.T) {
	const patience = 15 * time.Second
	w := NewWatch(patience, 8*time.Second)
	dead := func(tip checkpoint.Manifest, at time.Duration) bool {
		w.Put(at)
		w.Saw("c", "of its earlier life", at)
		w.Look(tip, viewOf("a", "abc"), at)
		return len(TakeOvers(tip, viewOf("a", "abc"), w)) > 0
	}
	joined, left := tipOf("abc"), tipOf("ab")
	at := time.Second
	for ; !dead(joined, at); at += time.Second {
		if at > time.Minute {
			t.Fatal("one whose heartbeat stands still is never taken over")
		}
	}
	dead(left, at)
	again := at + time.Second
	for at = again; !dead(joined, at); at += time.Second {
		if at > again+time.Minute {
			t.Fatal("one that joined again and never beats is never taken over")
		}
	}
	if at-again < patience {
		t.Errorf("taken over %s after it has joined again", at-again)
	}
}

// A node that left and is back within seconds is in the chain before gossip tells of it.
func TestWhoHasJustJoinedIsNotTakenForDead(t *testing.T) {
	before, tip := tipOf("ab"), tipOf("abc")
	w := NewWatch(15*time.Second, 8*time.Second)
	dead := func(tip checkpoint.Manifest, reachable string, at time.Duration) bool {
		w.Look(tip, viewOf("a", reachable), at)
		return len(TakeOvers(tip, viewOf("a", reachable), w)) > 0
	}
	if dead(before, "ab", 10*time.Second) || dead(tip, "ab", 11*time.Second) || dead(tip, "ab", 13*time.Second) {
		t.Error("taken over before gossip could tell of it")
	}
	if !dead(tip, "ab", 11*time.Second+hearsay) {
		t.Error("one of whom nobody hears keeps its partitions")
	}
	if dead(before, "ab", 20*time.Second) || dead(tip, "abc", 21*time.Second) {
		t.Error("taken over though it is there")
	}
	if !dead(tip, "ab", 22*time.Second) {
		t.Error("one that was there and is gone is not taken over at once")
	}
}

// Nor by the one that stood still while it had resigned: it is back, though nobody has read its
// new heartbeat yet.
func TestWhoServesAgainIsJudgedFromThen(t *testing.T) {
	const patience = 15 * time.Second
	w := NewWatch(patience, 8*time.Second)
	tip := tipOf("ac")
	dead := func(duty Duty, at time.Duration) bool {
		v := viewOf("a", "ac")
		v.Members[1].Duty = duty
		w.Put(at)
		w.Saw("c", "of before", at)
		w.Look(tip, v, at)
		return len(TakeOvers(tip, v, w)) > 0
	}
	at := time.Second
	for ; !dead(Resigned, at); at += time.Second {
		if at > time.Minute {
			t.Fatal("one that has resigned is never taken over")
		}
	}
	back := at + time.Second
	for at = back; !dead(Serving, at); at += time.Second {
		if at > back+time.Minute {
			t.Fatal("one that serves again and never beats is never taken over")
		}
	}
	if at-back < patience {
		t.Errorf("taken over %s after it serves again", at-back)
	}
}

// A node taken over joins again before anybody has seen the chain without it.
func TestWhoJoinsAnewBetweenTwoLooksIsJudgedFromThen(t *testing.T) {
	const patience = 15 * time.Second
	w := NewWatch(patience, 8*time.Second)
	tip := tipOf("ac")
	dead := func(at time.Duration) bool {
		w.Put(at)
		w.Saw("c", "of its earlier life", at)
		w.Look(tip, viewOf("a", "ac"), at)
		return len(TakeOvers(tip, viewOf("a", "ac"), w)) > 0
	}
	at := time.Second
	for ; !dead(at); at += time.Second {
		if at > time.Minute {
			t.Fatal("one whose heartbeat stands still is never taken over")
		}
	}
	w.Ended(ids("c"))
	again := at + time.Second
	for at = again; !dead(at); at += time.Second {
		if at > again+time.Minute {
			t.Fatal("one that joined again and never beats is never taken over")
		}
	}
	if at-again < patience {
		t.Errorf("taken over %s after it has joined again", at-again)
	}
}
