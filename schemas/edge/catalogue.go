package edge

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"taximeter/schemas"
)

// ReadTariffs reads a JSON array of Tarifa; name stands for the file in messages. The
// error tells every problem found, one a line, each with its path and mend, such as
//
//	tarifas.json: [3].precoKm: not a decimal with at most 6 places: "1.2345678"
func ReadTariffs(name string, r io.Reader) ([]schemas.Tariff, error) {
	all, problems, err := readArray(r, tariffFields, TariffKey)
	return all, tell(name, problems, err)
}

// ReadRules is ReadTariffs for Regra. Kinds and their parameters are the rule package's
// to judge.
func ReadRules(name string, r io.Reader) ([]schemas.Rule, error) {
	all, problems, err := readArray(r, ruleFields, RuleKey)
	return all, tell(name, problems, err)
}

// ReadTariffsFile is ReadTariffs of the file at path.
func ReadTariffsFile(path string) ([]schemas.Tariff, error) { return readFile(path, ReadTariffs) }

// ReadRulesFile is ReadRules of the file at path.
func ReadRulesFile(path string) ([]schemas.Rule, error) { return readFile(path, ReadRules) }

func readFile[T any](path string, read func(string, io.Reader) ([]T, error)) ([]T, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return read(path, f)
}

// Problem is one thing wrong with a tariff or rule: where, and what with its mend.
type Problem struct {
	Path string // such as "[3].precoKm"; "precoKm" when one record was looked at
	Text string
}

func (p Problem) Error() string { return p.Path + ": " + p.Text }

func tell(name string, problems []Problem, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	all := make([]error, len(problems))
	for i, p := range problems {
		all[i] = fmt.Errorf("%s: %w", name, p)
	}
	return errors.Join(all...)
}

// catalogueField is one member of a tariff or rule: how it is read from a file, and what
// must hold of its value wherever that came from.
type catalogueField[T any] struct {
	name     string
	optional bool
	read     func(*T, jsontext.Value) error
	check    func(*T) string // "" = fine; nil = anything goes
}

func readArray[T any](r io.Reader, fields []catalogueField[T], key func(*T) string) ([]T, []Problem, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, nil, err
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(text)) // refuses members given twice
	if k := dec.PeekKind(); k != '[' && k != jsontext.KindInvalid {
		return nil, nil, fmt.Errorf("must be a JSON array, not %s", k)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, nil, notJSON(err, text)
	}
	var all []T
	var problems []Problem
	first := make(map[string]int)
	for i := 0; dec.PeekKind() != ']'; i++ {
		v, err := dec.ReadValue()
		if err != nil {
			return nil, nil, notJSON(err, text)
		}
		var item T
		bad := readItem(&item, v, fields)
		if len(bad) == 0 {
			if before, twice := first[key(&item)]; twice {
				bad = append(bad, Problem{"", fmt.Sprintf("the same key %q as [%d]; remove one of them", key(&item), before)})
			} else {
				first[key(&item)] = i
			}
		}
		for _, p := range bad {
			problems = append(problems, Problem{strings.TrimSuffix(fmt.Sprintf("[%d].%s", i, p.Path), "."), p.Text})
		}
		all = append(all, item)
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, nil, notJSON(err, text)
	}
	if _, err := dec.ReadToken(); err != io.EOF {
		return nil, nil, errors.New("something follows the JSON array; remove it")
	}
	if len(problems) > 0 {
		return nil, problems, nil
	}
	return all, nil, nil
}

func notJSON(err error, text []byte) error {
	var at *jsontext.SyntacticError
	if err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) || !errors.As(err, &at) {
		return errors.New("not valid JSON: the file is cut short")
	}
	line := 1 + bytes.Count(text[:at.ByteOffset], []byte("\n"))
	return fmt.Errorf("not valid JSON on line %d, at %q: %w", line, at.JSONPointer, at.Err)
}

// readItem reads one element, checks what could be read, and lists what is wrong in the
// order of the fields.
func readItem[T any](item *T, v jsontext.Value, fields []catalogueField[T]) []Problem {
	if v.Kind() != '{' {
		return []Problem{{"", wrongType("an object", v).Error()}}
	}
	given, names, err := splitObject(v)
	if err != nil {
		return []Problem{{"", err.Error()}}
	}
	var bad []Problem
	for _, f := range fields {
		v, ok := given[f.name]
		delete(given, f.name)
		if !ok || v.Kind() == 'n' {
			if !f.optional {
				bad = append(bad, Problem{f.name, "missing"})
			}
			continue
		}
		if err := f.read(item, v); err != nil {
			bad = append(bad, Problem{f.name, err.Error()})
		} else if f.check != nil {
			if text := f.check(item); text != "" {
				bad = append(bad, Problem{f.name, text})
			}
		}
	}
	for _, name := range names {
		if _, left := given[name]; left {
			bad = append(bad, Problem{name, "unknown field; " + suggest(name, fields)})
		}
	}
	return bad
}

// splitObject is the members of a valid object without duplicates, and their order.
func splitObject(object jsontext.Value) (map[string]jsontext.Value, []string, error) {
	s := newScanner()
	s.start(object)
	if _, err := s.dec.ReadToken(); err != nil {
		return nil, nil, err
	}
	given := make(map[string]jsontext.Value)
	var names []string
	for s.dec.PeekKind() == '"' {
		quoted, err := s.value()
		if err != nil {
			return nil, nil, err
		}
		name, err := parseText[string](quoted)
		if err != nil {
			return nil, nil, err
		}
		if given[name], err = s.value(); err != nil {
			return nil, nil, err
		}
		names = append(names, name)
	}
	return given, names, nil
}

func suggest[T any](name string, fields []catalogueField[T]) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
	}
	if best := schemas.Nearest(name, names); best != "" {
		return fmt.Sprintf("write %q", best)
	}
	return "remove it"
}
