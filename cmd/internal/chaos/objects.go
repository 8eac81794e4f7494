package chaos

type objects struct{}

func newObjects(string, uint64) (*objects, error)               { return nil, nil }
func (o *objects) address() string                              { return "" }
func (o *objects) spoil(float64)                                {}
func (o *objects) close() error                                 { return nil }
func (r *Real) store(endpoint, prefix string) map[string]string { return nil }
