package node

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
)

// The words in which the YAML reader tells of a key or value that it cannot place; it gives
// no other form of them.
var (
	unknownKey = regexp.MustCompile(`^line (\d+): field (\S+) not found in type (\S+)$`)
	wrongValue = regexp.MustCompile("^line (\\d+): cannot unmarshal !!\\w+ (?:`(.*)` )?into (\\S+)$")
)

// configTypes are the words for what a value must be.
var configTypes = map[string]string{"int": "a whole number", "int64": "a whole number", "float64": "a number", "bool": "true or false",
	"string": "a text", "time.Duration": "a duration such as 30s"}

// configFault puts what the YAML reader has against a file in the user's words.
func configFault(path string, err error) error {
	typed, ok := errors.AsType[*yaml.TypeError](err)
	if !ok {
		return fmt.Errorf("configuration %s: %w", path, err)
	}
	faults := make([]error, len(typed.Errors))
	for i, text := range typed.Errors {
		if m := unknownKey.FindStringSubmatch(text); m != nil {
			text = fmt.Sprintf("line %s: unknown key %q; %s", m[1], m[2], meant(m[2], m[3]))
		} else if m := wrongValue.FindStringSubmatch(text); m != nil {
			want := configTypes[m[3]]
			switch {
			case want != "":
			case strings.HasPrefix(m[3], "[]"):
				want = "a list"
			default:
				want = "a section of keys"
			}
			text = fmt.Sprintf("line %s: not %s: %q", m[1], want, m[2])
		}
		faults[i] = fmt.Errorf("configuration %s %s", path, text)
	}
	return errors.Join(faults...)
}

// meant names the key that stands for a wrong one: of the same section, else of any; or the
// keys that the section, a Go type, has.
func meant(wrong, section string) string {
	var here, elsewhere string
	var known []string
	eachKey(reflect.TypeFor[Config](), "", func(in reflect.Type, path, key string) {
		if in.String() == section {
			known = append(known, key)
		}
		switch {
		case !alike(wrong, key):
		case in.String() == section:
			here = key
		case elsewhere == "":
			elsewhere = path + key
		}
	})
	switch {
	case here != "":
		return fmt.Sprintf("did you mean %q?", here)
	case elsewhere != "":
		return fmt.Sprintf("did you mean %q?", elsewhere)
	}
	return "known here are " + strings.Join(known, ", ")
}

// eachKey gives every key with the type of its section and the path to that, such as "kafka." or
// "alerts.channels[].".
func eachKey(section reflect.Type, path string, each func(in reflect.Type, path, key string)) {
	for f := range section.Fields() {
		key := f.Tag.Get("yaml")
		each(section, path, key)
		switch t := f.Type; {
		case t.Kind() == reflect.Struct:
			eachKey(t, path+key+".", each)
		case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
			eachKey(t.Elem(), path+key+"[].", each)
		}
	}
}

// alike reports whether a key is the other but for case, separators or its last letters.
func alike(a, b string) bool {
	bare := func(s string) string { return strings.ToLower(strings.NewReplacer("-", "", "_", "").Replace(s)) }
	a, b = bare(a), bare(b)
	return len(a) > 2 && (strings.HasPrefix(b, a) || strings.HasPrefix(a, b))
}
