package letters

import (
	"context"
	"fmt"

	"taximeter/cmd/internal/values"
	"taximeter/schemas"
)

// clockAhead is how far a record's instant may be past its append time.
const clockAhead = 2 * schemas.Minute

// judge says of a letter what can be known before the meter sees it again, by the checks
// that the meter makes of a record alone.
type judge struct{ events *values.Events }

// never are the reasons that no mend outside the record takes away.
var never = map[schemas.Verdict]string{
	schemas.DLQForeignBill:   "a bill that its namespace did not write stays one",
	schemas.DLQBeyondHorizon: "the horizon only moves on: replay the event in a namespace of its own if it must count",
	schemas.DLQTrackTooLong:  "the trip has as many points as it may have",
}

// why says why a letter would only come back; "" = it may pass. An error is the registry's.
func (j judge) why(ctx context.Context, l *Letter, now schemas.Millis) (string, error) {
	switch {
	case l.Topic == nil:
		return "was no record, but a timer that failed", nil
	case l.Truncated != "":
		return fmt.Sprintf("was cut (%s): the whole record stands at %s, if the log still holds it", l.Truncated, l.Source), nil
	case never[l.Reason] != "":
		return never[l.Reason], nil
	}
	topic, ok := schemas.InputTopic(*l.Topic)
	if !ok {
		return fmt.Sprintf("came from %s, which is no input topic", *l.Topic), nil
	}
	var event schemas.Event
	v, detail, err := j.events.Decode(ctx, topic, l.record.Value, &event)
	if err != nil {
		return "", err
	}
	if v == schemas.Counted {
		key := l.record.Key
		if key == nil {
			key = []byte{} // none is no trip's
		}
		v, detail = schemas.CheckEvent(&event, key), "its bytes alone decide that"
	}
	switch {
	case v != schemas.Counted:
		return fmt.Sprintf("still %s: %s", v, detail), nil
	case event.At > now.Add(clockAhead):
		return fmt.Sprintf("still %s until %s", schemas.DLQClockAhead, event.At), nil
	}
	return "", nil
}
