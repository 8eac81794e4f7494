package expression

import (
	"errors"
	"fmt"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"taximeter/actors/rule"
	"taximeter/schemas"
)

// ErrEvaluation is what every failed evaluation wraps.
var ErrEvaluation = errors.New("condition could not be evaluated")

// condition is a compiled expression.
type condition struct {
	program  cel.Program
	features map[string]*feature
	plain    plain // nil = only CEL can tell
}

// Holds evaluates the condition. Errors are the facts' doing: a division by zero, an
// integer that overflows.
func (c *condition) Holds(f *rule.Facts, at schemas.Millis) (bool, error) {
	if c.plain != nil {
		m := moment{f, at}
		if holds, known := c.plain(m); known {
			return holds, nil
		}
	}
	value, _, err := c.program.Eval(&activation{moment{f, at}, c.features})
	if err != nil {
		return false, fmt.Errorf("%w: %w", ErrEvaluation, err)
	}
	holds, ok := value.(types.Bool)
	if !ok {
		return false, fmt.Errorf("%w: it gave a value of type %s", ErrEvaluation, value.Type())
	}
	return bool(holds), nil
}

// activation answers the names of an expression as they are asked for, so that one that
// reads two features costs two.
type activation struct {
	moment
	features map[string]*feature
}

func (a *activation) ResolveName(name string) (any, bool) {
	f := a.features[name]
	if f == nil {
		return nil, false
	}
	return f.celValue(a.moment), true
}

func (a *activation) Parent() cel.Activation { return nil }
