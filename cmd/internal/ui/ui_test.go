package ui

import (
	"bytes"
	"os"
	"testing"

	"taximeter/schemas"
)

func TestNumbers(t *testing.T) {
	for got, want := range map[string]string{
		Count(0): "0", Count(999): "999", Count(1000): "1,000", Count(-1234567): "-1,234,567", Count(123456): "123,456",
		Group("1234567.89"): "1,234,567.89", Group("-1234.50"): "-1,234.50", Group("0.00"): "0.00",
		Decimal("1.525000", 6): "1.525", Decimal("2.500000", 6): "2.50", Decimal("-3.000000", 6): "-3.00", Decimal("1.477049425000", 6): "1.477049...",
		Decimal("0.000000100000", 6): "0.000000...", Decimal("0.968557", 6): "0.968557", Decimal("7", 6): "7", Decimal("5.00", 6): "5.00",
		Km(0): "0.000 km", Km(499): "0.000 km", Km(500): "0.001 km", Km(6714188866): "6,714.189 km", Km(-1500): "-0.002 km",
		Seconds(0): "0 s", Seconds(59): "59 s", Seconds(61): "1 min 01 s", Seconds(3599): "59 min 59 s", Seconds(694590): "192 h 56 min 30 s", Seconds(-61): "-1 min 01 s",
		Instant(1372636853000): "2013-07-01 00:00:53Z", Instant(1372636853250): "2013-07-01 00:00:53.250Z",
		Instant(schemas.NoTime): "not yet", Instant(schemas.EndOfTime): "the end of input",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTableAligns(t *testing.T) {
	table := Table{Head: []string{"name", ">km"}}
	table.Add("São João", "1.5")
	table.Add("a", "1,000.25")
	table.Add("short row")
	var b bytes.Buffer
	table.Print(&b, "  ")
	want := "  name             km\n  São João        1.5\n  a          1,000.25\n  short row\n"
	if b.String() != want {
		t.Errorf("\n%q\n%q", b.String(), want)
	}
}

func TestNoBarWhereNobodySeesIt(t *testing.T) {
	file, err := os.Create(t.TempDir() + "/out")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	bar := NewBar(file, "working")
	bar.Show(1, 2)
	bar.Done()
	if at, err := file.Stat(); err != nil || at.Size() != 0 {
		t.Errorf("%d bytes of a bar in a file, %v", at.Size(), err)
	}
}
