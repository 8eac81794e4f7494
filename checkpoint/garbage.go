package checkpoint

import "fmt"

// Collectable picks from keys those that may be deleted for ever: made by this layout,
// cited by no retained manifest, and not later than the tip's (epoch, seal) of their
// partition, so that no seal to come can cite them either. Everything else stays, also
// every key that it does not understand.
//
// retained are the manifests [tip.Oldest, tip], all of them, ascending; the keys may have
// been listed before or after. An old tip is safe: it only deletes less.
func Collectable(retained []Manifest, keys []string) ([]string, error) {
	if len(retained) == 0 {
		return nil, fmt.Errorf("collect garbage: no manifest given")
	}
	tip := retained[len(retained)-1]
	cited := make(map[string]struct{})
	for i, m := range retained {
		if want := tip.Oldest + Number(i); m.Namespace != tip.Namespace || m.Number != want {
			return nil, fmt.Errorf("collect garbage: manifest %d given where %d of [%d, %d] is due", m.Number, want, tip.Oldest, tip.Number)
		}
		for _, e := range m.Entries {
			for _, f := range e.Files {
				cited[f.Key] = struct{}{}
			}
			for _, o := range e.Pending {
				cited[o.File.Key] = struct{}{}
				for _, f := range o.Staged {
					cited[f.Key] = struct{}{}
				}
			}
		}
	}
	var garbage []string
	for _, key := range keys {
		pl, ok := tip.Namespace.PlaceOf(key)
		if !ok {
			continue
		}
		e, ok := tip.Entry(pl.Partition)
		if _, used := cited[key]; ok && !used && !pl.After(e) {
			garbage = append(garbage, key)
		}
	}
	return garbage, nil
}
