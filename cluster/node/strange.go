package node

import (
	"errors"

	"taximeter/checkpoint"
	"taximeter/cluster"
)

// estrange gives up all that runs here when the chain speaks what this node does not, and says
// so to the others: it can neither commit nor learn who runs what, so whatever it went on with
// would be done again by whoever takes over. It is back once it can follow.
func (c *crew) estrange(err error) {
	switch strange := isStrange(err); {
	case !strange && err != nil: // nothing is known of the chain now
		return
	case !strange && c.strange.Load() != nil:
		c.node.log.Info("this node can follow the namespace again")
		c.strange.Store(nil)
	case !strange:
		return
	default:
		if c.strange.Load() == nil {
			c.node.log.Error("this node cannot follow the namespace any more: it gives its partitions up, and others take them", "err", err)
		}
		c.strange.Store(&err)
		for _, s := range c.starts {
			s.cancel()
		}
		for _, t := range c.node.held() {
			c.end(t)
		}
	}
	if c.pulse != nil {
		c.pulse.estrange(c.strange.Load() != nil)
	}
}

// isStrange reports whether the error is that the chain cannot be understood, whatever is
// tried.
func isStrange(err error) bool {
	var format *checkpoint.NewerFormatError
	var protocol *checkpoint.NewerProtocolError
	return errors.As(err, &format) || errors.As(err, &protocol) || errors.Is(err, cluster.ErrNotSpoken)
}
