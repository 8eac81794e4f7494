package rule

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"
)

// busyMemory has an open episode of every kind that is remembered and two charges.
func busyMemory(t testing.TB) Memory {
	w := newTripWorld(t, bookOf(t, everyKind))
	for _, line := range []string{"in region=poa", "route 0,0 1000,0", "start 10:00:00 s", "pay 10:00:01 x 60.00", "pay 10:00:02 y 60.00",
		"point 10:00:01 e1 east=150 kmh=90", "point 10:00:02 e2 east=150 kmh=90", "point 10:01:02 e3 east=150 kmh=90",
		"pay 10:01:03 z 60.00", "pay 10:01:04 q 60.00", "event 10:01:05 v", "event 10:01:06 v2", "watermark 10:02:30"} {
		w.do(line)
	}
	return w.memory
}

// The bytes of a released version must stay readable: a changed format takes a new version
// byte, and this one keeps its test.
func TestSnapshotGolden(t *testing.T) {
	const golden = "01b0f6f9efca33d095faefca3306010108612d706172616461026531e899f6efca33000000000000003ec0cb3b54f5cc" +
		"7f49c0020108622d64657376696f026531e899f6efca3303040107632d76656c6f7a026531e899f6efca330308010664" +
		"2d6d75646f02653390cbfdefca3300200106672d6361726f0179d0a1f6efca330004010a682d726567696f6e616c0265" +
		"31e899f6efca33030207652d6475706c61017807652d6475706c61017a"
	m := busyMemory(t)
	got := hex.EncodeToString(m.AppendTo(nil))
	if got != golden {
		t.Errorf("snapshot\n%s, want\n%s", got, golden)
	}
	b, _ := hex.DecodeString(golden)
	if _, _, err := Decode(b); err != nil {
		t.Errorf("golden snapshot: %v", err)
	}
	var empty Memory
	if got := empty.AppendTo(nil); !bytes.Equal(got, []byte{1, 0, 0, 0, 0}) {
		t.Errorf("empty snapshot %x", got)
	}
}

func TestSnapshotCutAnywhereIsAnError(t *testing.T) {
	m := busyMemory(t)
	whole := m.AppendTo(nil)
	for n := range whole {
		if _, _, err := Decode(whole[:n]); !errors.Is(err, ErrSnapshot) {
			t.Errorf("cut to %d of %d bytes: %v", n, len(whole), err)
		}
	}
}

// Whatever Decode takes is exactly what AppendTo writes.
func FuzzDecode(f *testing.F) {
	m := busyMemory(f)
	f.Add(m.AppendTo(nil))
	f.Add([]byte{1, 0, 0, 0, 0})
	f.Add([]byte{1, 0x80, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		got, rest, err := Decode(b)
		if err != nil {
			if !errors.Is(err, ErrSnapshot) {
				t.Fatal(err)
			}
			return
		}
		if again := got.AppendTo(nil); !bytes.Equal(again, b[:len(b)-len(rest)]) {
			t.Fatalf("%x read back is %x", b, again)
		}
	})
}
