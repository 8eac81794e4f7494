package schemas

import (
	"errors"
	"testing"
)

// The expected ids were worked out with another implementation of RFC 9562 (Python's uuid).
func TestIDsAreUUIDv5OfTheName(t *testing.T) {
	if got := BillEventID("t1", 1); got != "4e9cd96b-c85b-50b7-8157-c57f2fb0c07b" {
		t.Errorf("bill id %s", got)
	}
	if got := AlertID("r", "t1", "e"); got != "5ceae39c-5631-54ee-bf7c-cf3cc9c48401" {
		t.Errorf("alert id %s", got)
	}
}

func TestDecimalsAreExact(t *testing.T) {
	for _, c := range []struct {
		in    string
		scale int
		want  int64
		ok    bool
	}{
		{"12.34", 2, 1234, true}, {"-0.5", 2, -50, true}, {"7", 2, 700, true}, {"1.2500000", 3, 1250, true},
		{"1.0001", 3, 0, false}, {"", 2, 0, false}, {"-", 2, 0, false}, {"1.", 2, 0, false}, {".5", 2, 0, false},
		{"1e3", 2, 0, false}, {"+1", 2, 0, false}, {"10000000000.00", 2, 0, false}, {"9999999999.99", 2, 999_999_999_999, true},
		{"1.-2", 3, 0, false}, {"99999999999999999999999", 2, 0, false}, {"0x1", 2, 0, false}, {"1.2x", 1, 0, false},
	} {
		got, err := ParseDecimal(c.in, c.scale, int64(MaxCents))
		if (err == nil) != c.ok || got != c.want {
			t.Errorf("ParseDecimal(%q, %d) = %d, %v", c.in, c.scale, got, err)
		}
	}
	for v, want := range map[int64]string{0: "0.00", -5: "-0.05", 123456: "1234.56", -9223372036854775808: "-92233720368547758.08"} {
		if got := FormatDecimal(v, 2); got != want {
			t.Errorf("FormatDecimal(%d) = %s, want %s", v, got, want)
		}
	}
}

func TestMillisAddSaturates(t *testing.T) {
	if NoTime.Add(5) != NoTime || EndOfTime.Add(-5) != EndOfTime || (EndOfTime-1).Add(5) != EndOfTime || (NoTime+1).Add(-5) != NoTime || Millis(7).Add(-8) != -1 {
		t.Fatal("Add does not saturate")
	}
}

func TestVerdictsReadBack(t *testing.T) {
	for v := range NumVerdicts {
		text, err := v.MarshalText()
		var back Verdict
		if err != nil || back.UnmarshalText(text) != nil || back != v {
			t.Errorf("%s reads back as %s", v, back)
		}
	}
	var v Verdict
	if err := v.UnmarshalText([]byte("?")); !errors.Is(err, ErrVerdict) {
		t.Errorf("a word that is no verdict: %v", err)
	}
}

func TestAnIDTakesOneAllocation(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { sink = string(BillEventID("298817aa-1441-4386-a161-6402b9aa41e8", 2)) }); n > 1 {
		t.Errorf("an id of a bill takes %.0f allocations", n)
	}
	var packed []byte
	if n := testing.AllocsPerRun(100, func() {
		packed = AppendPacked(nil, "298817aa-1441-4386-a161-6402b9aa41e8")
	}); n > 1 || cap(packed) > 24 {
		t.Errorf("a packed id takes %.0f allocations, of %d bytes in the end", n, cap(packed))
	}
}

var sink string
