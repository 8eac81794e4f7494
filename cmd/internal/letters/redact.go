package letters

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// shown are the fields whose values a report may show. Everything else, positions and
// pseudonyms above all, and whatever a producer invents, is redacted: a report goes to many.
var shown = []string{"eventId", "tripId", "ocorridoEm", "tipo", "velocidadeKmh", "precisaoM", "dispositivo", "retifica", "regiao", "categoria",
	"multiplicador", "nota", "valor", "moeda", "meio"}

const redacted = "(redacted)"

// Redact is a value with the names of all its fields and the values of those that may be
// shown. What is no JSON object is only measured.
func Redact(l *Letter) json.RawMessage {
	var fields map[string]any
	if l.Value == nil || json.Unmarshal(l.Value, &fields) != nil {
		n := len(l.Raw)
		if l.Value != nil {
			n = len(l.Value)
		}
		return quoted(fmt.Sprintf("(%d bytes that are no record)", n))
	}
	for name, value := range fields {
		switch v := value.(type) {
		case nil:
		case string, float64, bool:
			if text, ok := v.(string); !slices.Contains(shown, name) || ok && len(text) > maxShown {
				fields[name] = redacted
			}
		default:
			fields[name] = redacted
		}
	}
	return quoted(fields)
}

// maxShown keeps text that is no word or id out of a report.
const maxShown = 100

func quoted(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("values that came from JSON are no JSON: %v", err)) // numbers, texts and null
	}
	return text
}

// brief is the first line of a detail, without quoted parts: they may be values.
func brief(detail string) string {
	line, _, _ := strings.Cut(detail, "\n")
	var b strings.Builder
	inside := false
	for _, r := range line {
		if r == '"' {
			if inside = !inside; inside {
				b.WriteString(`"..."`)
			}
		} else if !inside && b.Len() < maxDetail {
			b.WriteRune(r)
		}
	}
	return strings.ToValidUTF8(b.String(), string(utf8.RuneError))
}

const maxDetail = 200
