package expression

import (
	"errors"
	"fmt"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/cost"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/operators"

	"taximeter/actors/rule"
)

// ErrExpression is what every fault of an expression's text wraps.
var ErrExpression = errors.New("not a condition")

const (
	// maxCost is the greatest cost that an expression may have, in CEL's units: about one
	// per operation and per ten bytes of text compared.
	maxCost = 1000
	// maxTextBytes is how long the texts among the features are taken to be.
	maxTextBytes = 256
	maxDepth     = 50
)

// functions are all that an expression may call: those whose result depends on nothing
// but the arguments, on any machine.
var functions = []string{
	operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot, operators.Conditional,
	operators.Equals, operators.NotEquals, operators.Less, operators.LessEquals, operators.Greater, operators.GreaterEquals,
	operators.Add, operators.Subtract, operators.Multiply, operators.Divide, operators.Modulo, operators.Negate,
	operators.In, "size", "startsWith", "endsWith", "contains", "int", "double",
}

// NewCompiler is the compiler of CEL conditions. What it compiles is safe for concurrent use.
func NewCompiler() (rule.ExpressionCompiler, error) {
	subset := env.NewLibrarySubset().SetDisableMacros(true)
	for _, name := range functions {
		subset.AddIncludedFunctions(env.NewFunction(name))
	}
	options := []cel.EnvOption{
		cel.StdLib(cel.StdLibSubset(subset)),
		cel.CrossTypeNumericComparisons(true),
		cel.ParserRecursionLimit(maxDepth),
	}
	c := &compiler{features: make(map[string]*feature, len(features))}
	for i := range features {
		f := &features[i]
		c.features[f.name] = f
		options = append(options, cel.Variable(f.name, f.celType()))
	}
	var err error
	if c.env, err = cel.NewCustomEnv(options...); err != nil {
		return nil, fmt.Errorf("make the environment of expressions: %w", err)
	}
	return c.compile, nil
}

type compiler struct {
	env      *cel.Env
	features map[string]*feature
}

func (c *compiler) compile(text string) (rule.Expression, error) {
	parsed, issues := c.env.Parse(text)
	if issues.Err() != nil {
		return nil, faults(issues)
	}
	if err := c.checkNames(parsed); err != nil {
		return nil, err
	}
	checked, issues := c.env.Check(parsed)
	if issues.Err() != nil {
		return nil, faults(issues)
	}
	if t := checked.OutputType(); !t.IsExactType(cel.BoolType) {
		return nil, fmt.Errorf("%w: it gives a value of type %s; compare it with something", ErrExpression, t)
	}
	estimate, err := c.env.EstimateCost(checked, textSizes{})
	if err != nil {
		return nil, fmt.Errorf("%w: its cost cannot be told: %w", ErrExpression, err)
	}
	if estimate.Max > maxCost {
		return nil, fmt.Errorf("%w: it may cost %d units, at most %d are allowed; make it shorter", ErrExpression, estimate.Max, maxCost)
	}
	program, err := c.env.Program(checked, cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrExpression, err)
	}
	return &condition{program, c.features, c.plain(checked.NativeRep().Expr())}, nil
}

// checkNames reports the names that are no feature, which are the most likely mistake, with
// the names there are.
func (c *compiler) checkNames(parsed *cel.Ast) error {
	var wrong []error
	native := parsed.NativeRep()
	ast.PostOrderVisit(native.Expr(), ast.NewExprVisitor(func(e ast.Expr) {
		if e.Kind() != ast.IdentKind || c.features[e.AsIdent()] != nil {
			return
		}
		wrong = append(wrong, fmt.Errorf("%w: %sthere is no %s; write one of %s",
			ErrExpression, position(native.SourceInfo().GetStartLocation(e.ID())), e.AsIdent(), featureNames()))
	}))
	return errors.Join(wrong...)
}

func featureNames() string {
	names := make([]string, len(features))
	for i := range features {
		names[i] = features[i].name
	}
	return strings.Join(names, ", ")
}

// faults are the parser's or checker's, each with its place.
func faults(issues *cel.Issues) error {
	var all []error
	for _, e := range issues.Errors() {
		all = append(all, fmt.Errorf("%w: %s%s", ErrExpression, position(e.Location), e.Message))
	}
	return errors.Join(all...)
}

// position counts lines and columns from 1; cel-go counts columns from 0. A fault of the
// whole text has none.
func position(l common.Location) string {
	if l == nil || l == common.NoLocation {
		return ""
	}
	return fmt.Sprintf("line %d, column %d: ", l.Line(), l.Column()+1)
}

// textSizes tells the cost estimate how long the features are.
type textSizes struct{}

func (textSizes) EstimateSize(cost.AstNode) *cost.SizeEstimate {
	return &cost.SizeEstimate{Min: 0, Max: maxTextBytes}
}

func (textSizes) EstimateCallCost(string, string, *cost.AstNode, []cost.AstNode) *cost.CallEstimate {
	return nil
}
