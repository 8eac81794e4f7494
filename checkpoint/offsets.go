package checkpoint

import (
	"fmt"

	"taximeter/schemas"
)

// SetOffset is an operator's word that a partition's consumption of one topic goes on at
// Next: the log no longer holds what would come next, or holds what nobody must read.
//
// The cut stays as it is, and so does what it publishes; Entry.Cut tells where its files
// stand, so that the run which begins there counts the offsets left out (or, going back,
// read again). The owner is revoked and none is named.
type SetOffset struct {
	Partition schemas.Partition
	Topic     schemas.Topic
	Next      schemas.Offset
}

func (c SetOffset) apply(m *Manifest, tip Manifest, _ Limits) error {
	was, ok := tip.Entry(c.Partition)
	if !ok {
		return fmt.Errorf("partition %d does not exist", c.Partition)
	}
	e := m.Entries[c.Partition]
	switch {
	case int(c.Topic) >= len(e.Next) || c.Next < 0:
		return fmt.Errorf("partition %d: there is no offset %d of topic %d", c.Partition, c.Next, c.Topic)
	case e.Epoch != was.Epoch && e.Owner != "":
		return fmt.Errorf("partition %d is started in the same manifest", c.Partition)
	}
	if e.Cut == nil {
		cut := e.Next
		e.Cut = &cut
	}
	e.Next[c.Topic] = c.Next
	e.Epoch, e.Incarnation, e.Owner = was.Epoch+1, 0, ""
	m.Entries[c.Partition] = e
	m.Cause = CauseOffsets
	return nil
}

// AdoptTopic is an operator's word that a topic which was deleted and created again is the
// one to read from now on. All partitions must get an offset of it in the same manifest,
// before it: those that they have mean records of the old topic.
type AdoptTopic struct {
	Topic schemas.Topic
	ID    string
}

func (c AdoptTopic) apply(m *Manifest, tip Manifest, _ Limits) error {
	if c.ID == "" || tip.TopicIDs[c.Topic] == c.ID {
		return fmt.Errorf("topic %s has the id %q already", c.Topic, c.ID)
	}
	for p := range m.Entries {
		e := &m.Entries[p]
		if e.Epoch == tip.Entries[p].Epoch || e.Owner != "" {
			return fmt.Errorf("partition %d needs an offset of the new topic %s too", p, c.Topic)
		}
		if e.Abandoned != nil { // its offset of the old topic will never be reached
			a := *e.Abandoned
			a.Next[c.Topic] = 0
			e.Abandoned = &a
		}
	}
	m.TopicIDs[c.Topic] = c.ID
	return nil
}
