package rule

import (
	"fmt"
	"slices"
	"strings"

	"taximeter/schemas"
)

// Problem is one fault of one rule version, in the words of whoever wrote the rule.
type Problem struct {
	Index   int    // place in the list that was compiled, from 0
	RuleID  string // may be empty: that is a fault too
	Version int
	Path    string // the faulty field, such as parametros.raioM
	Text    string // what is wrong with it and what to write instead
}

func (p Problem) String() string {
	if p.RuleID == "" {
		return fmt.Sprintf("rule at position %d: %s: %s", p.Index+1, p.Path, p.Text)
	}
	return fmt.Sprintf("rule %q version %d: %s: %s", p.RuleID, p.Version, p.Path, p.Text)
}

// Problems are all faults of a list of rules, in its order.
type Problems []Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i := range p {
		lines[i] = p[i].String()
	}
	return strings.Join(lines, "\n")
}

// Limits of what a rule may hold: its words are kept in every alert and its id in the
// memory of every trip it watches.
const (
	maxRuleID = 200
	maxText   = 4000
)

// compilation is the making of one version and the faults met on the way.
type compilation struct {
	rule     *schemas.Rule
	index    int
	problems Problems
}

func (c *compilation) problem(path, format string, args ...any) {
	c.problems = append(c.problems, Problem{c.index, c.rule.RuleID, c.rule.Version, path, fmt.Sprintf(format, args...)})
}

// version compiles the rule. Of an inactive version kind and parameters are not looked at:
// switching a rule off must work whatever else is wrong with it.
func (c *compilation) version(compile ExpressionCompiler) version {
	r := c.rule
	switch {
	case r.RuleID == "":
		c.problem("regraId", "is missing; give the rule a name that stays the same in all its versions")
	case len(r.RuleID) > maxRuleID:
		c.problem("regraId", "has %d bytes; write at most %d", len(r.RuleID), maxRuleID)
	}
	if r.Version < 1 {
		c.problem("versao", "is %d; count versions from 1", r.Version)
	}
	v := version{
		number:     r.Version,
		validFrom:  r.ValidFrom,
		regions:    slices.Clone(r.Regions),
		categories: slices.Clone(r.Categories),
	}
	if !r.Active {
		return v
	}
	if r.Regions != nil && len(r.Regions) == 0 {
		c.problem("regioes", "is an empty list, so the rule would watch no trip; leave it out (null) to watch all")
	}
	if r.Categories != nil && len(r.Categories) == 0 {
		c.problem("categorias", "is an empty list, so the rule would watch no trip; leave it out (null) to watch all")
	}
	spec := specOf(r.Kind)
	if spec == nil {
		c.problem("tipo", "%q is not a kind of rule; %s", r.Kind, meant(r.Kind, Kinds()))
		return v
	}
	v.kind = spec.kind
	for i := range spec.params {
		c.number(&v, &spec.params[i])
	}
	if spec.kind == condition {
		c.text(&v, compile)
	}
	c.strangers(spec.paramNames())
	return v
}

// number reads one numeric parameter into v.
func (c *compilation) number(v *version, p *paramSpec) {
	path := "parametros." + p.name
	text, given := c.rule.Params[p.name]
	if !given {
		if text = p.fallback; text == "" {
			c.problem(path, "is missing; write %s", p.meaning)
			return
		}
	}
	scaled, err := schemas.ParseDecimal(text, p.places, p.max)
	if err != nil || scaled < p.min {
		c.problem(path, "is %q; write %s%s", text, p.meaning, places(p.places))
		return
	}
	p.set(v, scaled)
}

func places(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(", with at most %d decimal places", n)
}

// text compiles the expression of an expressao rule into v.
func (c *compilation) text(v *version, compile ExpressionCompiler) {
	const path = "parametros." + textParam
	text := c.rule.Params[textParam]
	switch {
	case strings.TrimSpace(text) == "":
		c.problem(path, "is missing; write a condition such as distancia_m > 50000.0")
		return
	case len(text) > maxText:
		c.problem(path, "has %d bytes; write at most %d", len(text), maxText)
		return
	case compile == nil:
		c.problem(path, "cannot be compiled: this program was started without an expression language")
		return
	}
	expression, err := compile(text)
	if err != nil {
		c.problem(path, "%s", err)
		return
	}
	v.expression, v.text = expression, strings.Clone(text)
}

// strangers reports the parameters that the kind does not take, in the order of their names.
func (c *compilation) strangers(known []string) {
	var unknown []string
	for name := range c.rule.Params {
		if !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	for _, name := range unknown {
		c.problem("parametros."+name, "is not a parameter of %s; %s", c.rule.Kind, meant(name, known))
	}
}

// meant offers the name that was probably meant, or all there are.
func meant(wrong string, names []string) string {
	if name := schemas.Nearest(wrong, names); name != "" {
		return fmt.Sprintf("did you mean %s?", name)
	}
	return "write one of " + strings.Join(names, ", ")
}
