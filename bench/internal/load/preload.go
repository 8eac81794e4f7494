package load

import (
	"context"
	"errors"
	"fmt"
	"os"

	"taximeter/bench/internal/oracle"
	"taximeter/bench/internal/rig"
	"taximeter/bench/internal/traffic"
	"taximeter/schemas/edge"
)

// Log is what Preload has put into the input topics.
type Log struct {
	Counts traffic.Counts
	Bytes  int64 // of the values
	Ends   rig.Ends
}

// Preload sends traffic with its catalogue to a broker whose input topics are empty, and
// writes the same events and tariffs to files for the oracle.
func Preload(ctx context.Context, o Options, cfg traffic.Config, eventsFile, tariffsFile string) (log Log, err error) {
	loader, err := New(ctx, o)
	if err != nil {
		return log, err
	}
	defer loader.Client.Close()
	tariffs := traffic.Tariffs(cfg.Start)
	err = errors.Join(loader.Catalogue(ctx, tariffs, traffic.Rules(cfg.Start)), oracle.WriteTariffs(tariffsFile, tariffs))
	if err != nil {
		return log, err
	}
	if log.Ends, err = rig.InputEnds(ctx, loader.Client); err != nil {
		return log, err
	}
	for topic, ends := range log.Ends {
		for p, end := range ends {
			if end > 0 {
				return log, fmt.Errorf("partition %d of %s is not empty: the bench needs a log of its own", p, topic)
			}
		}
	}
	file, err := os.Create(eventsFile)
	if err != nil {
		return log, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	events, stream := edge.NewWriter(file), traffic.New(cfg)
	for line, ok := stream.Next(); ok; line, ok = stream.Next() {
		if err := errors.Join(loader.Send(ctx, &line), events.Write(&line)); err != nil {
			return log, err
		}
	}
	if err := errors.Join(events.Flush(), loader.Flush(ctx)); err != nil {
		return log, err
	}
	log.Counts, log.Bytes = stream.Counts(), loader.Bytes
	log.Ends, err = rig.InputEnds(ctx, loader.Client)
	return log, err
}
