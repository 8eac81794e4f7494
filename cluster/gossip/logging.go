package gossip

import (
	"bytes"
	"context"
	"log"
	"log/slog"
	"sync"
	"time"
)

// lines turns memberlist's log lines into ours. A stranger on the port makes it write a
// line per packet: beyond linesPerSecond they are only counted.
type lines struct {
	log *slog.Logger

	mu      sync.Mutex // guards the rest
	second  time.Time
	written int
	dropped int
}

const linesPerSecond = 20

func newLogger(l *slog.Logger) *log.Logger {
	return log.New(&lines{log: l.With("part", "memberlist")}, "", 0)
}

func (w *lines) Write(line []byte) (int, error) {
	level, text := slog.LevelInfo, bytes.TrimSpace(line)
	for prefix, l := range map[string]slog.Level{"[DEBUG]": slog.LevelDebug, "[WARN]": slog.LevelWarn, "[ERR]": slog.LevelError} {
		if rest, ok := bytes.CutPrefix(text, []byte(prefix)); ok {
			level, text = l, rest
		}
	}
	text = bytes.TrimPrefix(bytes.TrimSpace(text), []byte("memberlist: "))
	if !w.log.Enabled(context.Background(), level) {
		return len(line), nil
	}
	w.mu.Lock()
	dropped := 0
	if now := time.Now(); now.Sub(w.second) >= time.Second {
		w.second, w.written, dropped, w.dropped = now, 0, w.dropped, 0
	}
	w.written++
	full := w.written > linesPerSecond
	if full {
		w.dropped++
	}
	w.mu.Unlock()
	if dropped > 0 {
		w.log.Warn("more lines than are worth reading", "dropped", dropped)
	}
	if !full {
		w.log.Log(context.Background(), level, string(text))
	}
	return len(line), nil
}
