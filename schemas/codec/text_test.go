package codec

import (
	"strings"
	"testing"
	"unicode/utf8"
)

// At every length and place: a byte that is no text, and one that begins or is some.
func TestTextOfAnyLengthIsJudgedWhole(t *testing.T) {
	for n := range 40 {
		for at := range n + 1 {
			for _, odd := range []string{"\x80", "\xff", "\xc3", "é", "a", ""} {
				s := strings.Repeat("x", at) + odd + strings.Repeat("y", n-at)
				if validText(s) != utf8.ValidString(s) {
					t.Errorf("%q: %v", s, validText(s))
				}
			}
		}
	}
}
