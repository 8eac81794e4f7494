package analytics_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"taximeter/sinks/analytics"
)

func TestOpenSaysWhereAndWhat(t *testing.T) {
	for _, c := range []struct {
		url     string
		refused bool
		says    []string
	}{
		{"mysql://h/d", true, []string{"mysql://h/d", "no such kind of database", "sqlite:PATH"}},
		{"", true, []string{"no such kind of database"}},
		{"sqlite:", true, []string{"write sqlite: and the file's path"}},
		{"sqlite:/dev/null/x.db", false, []string{"sqlite:/dev/null/x.db", "make the folder"}},
		{"postgres://u:secret@127.0.0.1:1/d?sslmode=disable", false, []string{"postgres://u:xxxxx@127.0.0.1:1/d", "connection refused"}},
		{"postgres://127.0.0.1:1/d?user=u&password=secret", false, []string{"password=xxxxx"}},
		{"postgres://u:secret@h:port/d", true, []string{"postgres"}},
		{"postgres://h/d?sslmode=secure", true, []string{"sslmode"}},
		{"clickhouse://u:secret@127.0.0.1:1/d", false, []string{"clickhouse://u:xxxxx@127.0.0.1:1/d", "connection refused"}},
		{"clickhouse://u:secret@h:9000/d?dial_timeout=soon", true, []string{"dial_timeout"}},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		db, err := analytics.Open(ctx, c.url, namespace, slog.New(slog.DiscardHandler))
		cancel()
		if err == nil {
			t.Errorf("%s was opened", c.url)
			_ = db.Close()
			continue
		}
		if errors.Is(err, analytics.ErrRefused) != c.refused || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v (refused for good: want %v)", c.url, err, c.refused)
		}
		for _, s := range c.says {
			if !strings.Contains(err.Error(), s) {
				t.Errorf("%s: %q does not say %q", c.url, err, s)
			}
		}
	}
}
