package rule

import (
	"strconv"
	"strings"

	"taximeter/schemas"
)

// alert tells an episode. Strings that may alias an event are copied.
func (e *episode) alert(v *version, f *Facts, decidedAt schemas.Millis, details map[string]string) schemas.Alert {
	onset := e.onsetID()
	return schemas.Alert{
		AlertID:     schemas.AlertID(e.ruleID, f.TripID, onset),
		RuleID:      e.ruleID,
		RuleVersion: v.number,
		Kind:        v.kind.String(),
		TripID:      schemas.TripID(strings.Clone(string(f.TripID))),
		Region:      strings.Clone(f.Region),
		Category:    strings.Clone(f.Category),
		OnsetID:     onset,
		OnsetAt:     e.onsetAt,
		DecidedAt:   decidedAt,
		Details:     details,
	}
}

// The figures of each kind of alert. Parameters keep their names in the rule; all are
// decimals with a point and a fixed number of places.

func stopDetails(v *version, e *episode, p *Point) map[string]string {
	return map[string]string{
		"raioM":     decimal(v.limit, 3),
		"latitude":  decimal(e.place.Lat, 6),
		"longitude": decimal(e.place.Lon, 6),
		"paradoS":   seconds(p.At - e.onsetAt),
	}
}

func detourDetails(v *version, e *episode, awayM float64) map[string]string {
	return map[string]string{
		"limiarM":    decimal(v.limit, 3),
		"distanciaM": decimal(awayM, 1),
		"pontos":     strconv.Itoa(int(e.count)),
	}
}

func speedingDetails(v *version, e *episode, p *Point) map[string]string {
	return map[string]string{
		"limiarKmh":     decimal(v.limit, 3),
		"velocidadeKmh": decimal(p.SpeedKmh, 1),
		"pontos":        strconv.Itoa(int(e.count)),
	}
}

func silenceDetails(v *version, quiet schemas.Millis) map[string]string {
	return map[string]string{"silencioS": seconds(quiet)}
}

func chargeDetails(v *version, first, second Payment) map[string]string {
	return map[string]string{
		"valor":        first.Amount.String(),
		"intervaloS":   seconds(second.At - first.At),
		"outroEventId": strings.Clone(string(second.ID)),
	}
}

func conditionDetails(v *version) map[string]string {
	return map[string]string{textParam: v.text}
}

func decimal(x float64, places int) string { return strconv.FormatFloat(x, 'f', places, 64) }

func seconds(d schemas.Millis) string { return schemas.FormatDecimal(int64(d), 3) }
