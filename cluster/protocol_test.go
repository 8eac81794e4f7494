package cluster

import (
	"strings"
	"testing"

	"taximeter/checkpoint"
)

func TestTheChainSpeaksWhatAllMembersSpeak(t *testing.T) {
	for name, c := range map[string]struct {
		members, view string
		speaks        []checkpoint.Protocol // of those in view, in their order
		now, want     checkpoint.Protocol   // want 0 = no change
	}{
		"all upgraded":               {"abc", "abc", []checkpoint.Protocol{2, 2, 2}, 0, 2},
		"one is not":                 {"abc", "abc", []checkpoint.Protocol{2, 1, 2}, 0, 0},
		"one is out of view":         {"abc", "ab", []checkpoint.Protocol{2, 2}, 0, 0},
		"it speaks that already":     {"abc", "abc", []checkpoint.Protocol{2, 2, 2}, 2, 0},
		"a stranger does not count":  {"ab", "abc", []checkpoint.Protocol{2, 2, 1}, 1, 2},
		"the lowest of the higher":   {"ab", "ab", []checkpoint.Protocol{4, 3}, 2, 3},
		"nobody is a member":         {"", "a", []checkpoint.Protocol{2}, 0, 0},
		"it never falls, whoever is": {"a", "a", []checkpoint.Protocol{1}, 2, 0},
	} {
		tip := tipOf(c.members)
		tip.Protocol = c.now
		v := viewOf("a", c.view)
		for i, max := range c.speaks {
			v.Members[i].Speaks = Protocols{1, max}
		}
		got, ok := v.Raise(tip)
		if ok != (c.want != 0) || ok && got != c.want {
			t.Errorf("%s: %d, %t; want %d", name, got, ok, c.want)
		}
	}
}

func TestWhoDoesNotSpeakTheChainsProtocolIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		speaks  Protocols
		members string
		chain   checkpoint.Protocol
		want    string // "" = it may work
	}{
		"the same":                      {Protocols{1, 2}, "ab", 2, ""},
		"an older chain":                {Protocols{1, 2}, "ab", 0, ""},
		"a newer chain":                 {Protocols{1, 1}, "ab", 2, "upgrade it"},
		"too old a chain, with others":  {Protocols{2, 3}, "ab", 1, "upgrade the other nodes first"},
		"too old a chain, nobody there": {Protocols{2, 3}, "", 1, ""},
		"too old a chain, alone":        {Protocols{2, 3}, "a", 1, ""},
	} {
		tip := tipOf(c.members)
		tip.Protocol = c.chain
		err := c.speaks.Understands(tip, "a")
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
