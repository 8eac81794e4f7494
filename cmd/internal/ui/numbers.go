package ui

import (
	"strconv"
	"strings"
	"time"

	"taximeter/schemas"
)

// Count writes a whole number with a comma between thousands.
func Count[N ~int | ~int32 | ~int64](n N) string { return Group(strconv.FormatInt(int64(n), 10)) }

// Group puts a comma between the thousands of a decimal's text.
func Group(decimal string) string {
	sign := ""
	if strings.HasPrefix(decimal, "-") {
		sign, decimal = "-", decimal[1:]
	}
	whole, fraction, dotted := strings.Cut(decimal, ".")
	var b strings.Builder
	b.WriteString(sign)
	for i, digit := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(digit)
	}
	if dotted {
		b.WriteByte('.')
		b.WriteString(fraction)
	}
	return b.String()
}

// Decimal writes a decimal's text with the places it needs, at least two as money has, at
// most so many: three dots say that there are more.
func Decimal(text string, most int) string {
	whole, fraction, dotted := strings.Cut(text, ".")
	if !dotted {
		return text
	}
	fraction = strings.TrimRight(fraction, "0")
	if len(fraction) > most {
		return whole + "." + fraction[:most] + "..."
	}
	return whole + "." + fraction + strings.Repeat("0", max(2-len(fraction), 0))
}

// Km writes millimetres as kilometres to the metre.
func Km(mm int64) string {
	half := int64(500)
	if mm < 0 {
		half = -half
	}
	return Group(schemas.FormatDecimal((mm+half)/1000, 3)) + " km"
}

// Seconds writes whole seconds as 1 h 02 min 03 s, without the leading parts that are zero.
func Seconds(s int64) string {
	pad := func(n int64) string { return strconv.FormatInt(n/10, 10) + strconv.FormatInt(n%10, 10) }
	switch {
	case s < 0:
		return "-" + Seconds(-s)
	case s < 60:
		return strconv.FormatInt(s, 10) + " s"
	case s < 3600:
		return strconv.FormatInt(s/60, 10) + " min " + pad(s%60) + " s"
	}
	return Count(s/3600) + " h " + pad(s/60%60) + " min " + pad(s%60) + " s"
}

// Elapsed writes a wall time in seconds to the tenth.
func Elapsed(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s" }

// Rate writes how many there were in a second.
func Rate(n int64, d time.Duration) string {
	return Count(int64(float64(n)/max(d, time.Millisecond).Seconds())) + "/s"
}
