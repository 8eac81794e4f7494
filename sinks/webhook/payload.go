package webhook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"taximeter/schemas"
)

// body is what a channel of a format is sent. The same alert gives the same bytes, so that
// whoever keeps an idempotency key with the request finds nothing changed.
func body(format string, a *schemas.Alert) ([]byte, error) {
	if format == formatSlack {
		return marshal(map[string]string{"text": slackText.Replace(summary(a))})
	}
	return marshal(struct {
		*schemas.Alert
		Summary string `json:"resumo"`
	}{a, summary(a)})
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSpace(b.Bytes()), err
}

// slackText escapes what Slack's markup gives a meaning.
var slackText = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// summary is an alert in a line, in the contract's words.
func summary(a *schemas.Alert) string {
	where := a.Region
	if where == "" {
		where = "regiao desconhecida"
	}
	if a.Category != "" {
		where += "/" + a.Category
	}
	var details strings.Builder
	for _, key := range slices.Sorted(maps.Keys(a.Details)) {
		fmt.Fprintf(&details, " %s=%s", key, a.Details[key])
	}
	return fmt.Sprintf("%s em %s: corrida %s desde %s,%s (regra %s versao %d, alerta %s)", a.Kind, where, a.TripID,
		a.OnsetAt.Time().Format(time.RFC3339), details.String(), a.RuleID, a.RuleVersion, a.AlertID)
}
