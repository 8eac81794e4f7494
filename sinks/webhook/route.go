package webhook

import "slices"

// routes say which channels an alert goes to.
type routes struct {
	channels []Channel
	named    []string // regions that some channel names
}

func newRoutes(channels []Channel) routes {
	r := routes{channels: channels}
	for _, c := range channels {
		r.named = append(r.named, c.Regions...)
	}
	return r
}

// of are the channels of an alert, as indexes in the configuration's order.
func (r routes) of(region, kind string) (to []int) {
	for i, c := range r.channels {
		if r.takes(c, region) && (len(c.Kinds) == 0 || slices.Contains(c.Kinds, kind)) {
			to = append(to, i)
		}
	}
	return to
}

func (r routes) takes(c Channel, region string) bool {
	if len(c.Regions) == 0 {
		return !slices.Contains(r.named, region)
	}
	return c.Regions[0] == everywhere || slices.Contains(c.Regions, region)
}
