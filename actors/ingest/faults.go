package ingest

import (
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/schemas"
)

// OutOfRangeError: the log no longer (or not yet) holds the offset to read next. The
// topic-partition stands still until the owner removes the partition and adds it anew.
type OutOfRangeError struct {
	Topic     schemas.Topic
	Partition schemas.Partition
	Wanted    schemas.Offset
	LogStart  schemas.Offset // -1: not known
	LogEnd    schemas.Offset // -1: not known
}

func (e *OutOfRangeError) Error() string {
	if e.Wanted < e.LogStart {
		return fmt.Sprintf("%s/%d: offsets [%d, %d) were deleted before they were read: %d records are missing; "+
			"raise the topic's retention, and restore from an older copy or accept the gap", e.Topic, e.Partition, e.Wanted, e.LogStart, e.LogStart-e.Wanted)
	}
	return fmt.Sprintf("%s/%d: offset %d is past the end of the log [%d, %d): the broker lost data or the topic was recreated",
		e.Topic, e.Partition, e.Wanted, e.LogStart, e.LogEnd)
}

// TopicRecreatedError: the topic was deleted and created again under the same name, so
// the offsets mean other records. The topic-partition stands still.
type TopicRecreatedError struct {
	Topic     schemas.Topic
	Partition schemas.Partition
	Wanted    schemas.Offset
}

func (e *TopicRecreatedError) Error() string {
	return fmt.Sprintf("%s/%d: the topic was deleted and created again: offset %d of the checkpoint means another log", e.Topic, e.Partition, e.Wanted)
}

// FetchError is any other fault of a fetch. When Stopped, the topic-partition stands
// still; else it is fetched again after a pause.
type FetchError struct {
	Topic     string // "" = not of one topic
	Partition schemas.Partition
	Stopped   bool
	Err       error
}

func (e *FetchError) Error() string {
	if e.Topic == "" {
		return fmt.Sprintf("fetch: %v", e.Err)
	}
	return fmt.Sprintf("fetch %s/%d: %v", e.Topic, e.Partition, e.Err)
}

func (e *FetchError) Unwrap() error { return e.Err }

// standsStill reports whether fetching again cannot help: the log lost what was already
// read, or holds a batch too large to read.
func standsStill(err error) bool {
	_, lost := errors.AsType[*kgo.ErrDataLoss](err)
	_, tooLarge := errors.AsType[*kgo.ErrDecompressTooLarge](err)
	return lost || tooLarge || errors.Is(err, kerr.OffsetOutOfRange)
}
