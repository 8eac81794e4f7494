package registry

import (
	"encoding/json"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/twmb/avro"
)

// The records of Confluent's `_schemas` log. The order of a key's members matters:
// compaction compares bytes, and Confluent writes them so.

const (
	keySchema        = "SCHEMA"
	keyConfig        = "CONFIG"
	keyNoop          = "NOOP"
	keyDeleteSubject = "DELETE_SUBJECT"

	levelNone = "NONE"
	typeAvro  = "AVRO"
)

type logKey struct {
	KeyType string  `json:"keytype"`
	Subject *string `json:"subject"` // null = global
	Version int     `json:"version"`
}

func (k *logKey) subject() string {
	if k.Subject == nil {
		return ""
	}
	return *k.Subject
}

type schemaValue struct {
	Subject    string          `json:"subject"`
	Version    int             `json:"version"`
	ID         int             `json:"id"`
	SchemaType string          `json:"schemaType,omitempty"` // "" = AVRO
	References json.RawMessage `json:"references,omitempty"` // only in a log taken over
	Schema     string          `json:"schema"`
	Deleted    bool            `json:"deleted"`
}

type deleteValue struct {
	Version int `json:"version"` // this one and all before it
}

type configValue struct {
	Level string `json:"compatibilityLevel"`
}

var noopKey = []byte(`{"keytype":"NOOP","magic":0}`)

func schemaRecord(v *schemaValue) (key, value []byte, err error) {
	key, err = json.Marshal(struct {
		KeyType string `json:"keytype"`
		Subject string `json:"subject"`
		Version int    `json:"version"`
		Magic   int    `json:"magic"`
	}{keySchema, v.Subject, v.Version, 1})
	if err != nil {
		return nil, nil, fmt.Errorf("encode log key: %w", err)
	}
	if value, err = json.Marshal(v); err != nil {
		return nil, nil, fmt.Errorf("encode log value: %w", err)
	}
	return key, value, nil
}

// configRecord sets the subject's level to NONE; "" is the global one.
func configRecord(subject string) (key, value []byte, err error) {
	k := struct {
		KeyType string  `json:"keytype"`
		Subject *string `json:"subject"`
		Magic   int     `json:"magic"`
	}{KeyType: keyConfig}
	if subject != "" {
		k.Subject = &subject
	}
	if key, err = json.Marshal(k); err != nil {
		return nil, nil, fmt.Errorf("encode log key: %w", err)
	}
	if value, err = json.Marshal(configValue{levelNone}); err != nil {
		return nil, nil, fmt.Errorf("encode log value: %w", err)
	}
	return key, value, nil
}

// canonical is what makes two schemas the same: everything but white space, the order of
// members and the spelling of strings. Avro's Parsing Canonical Form will not do: it drops
// defaults, aliases and logical types, so a decimal would be the same as its bytes.
func (v *schemaValue) canonical() string {
	if v.SchemaType != "" && v.SchemaType != typeAvro || len(v.References) > 0 {
		return v.SchemaType + "\x00" + v.Schema + "\x00" + string(v.References)
	}
	return canonicalAvro(v.Schema)
}

func canonicalAvro(text string) string {
	canonical := jsontext.Value(text)
	if err := canonical.Format(jsontext.ReorderRawObjects(true)); err != nil {
		return text // of a log taken over: no reason to forget the id
	}
	return string(canonical)
}

// checkAvro is the canonical form of a schema that can be registered.
func checkAvro(text string) (string, error) {
	if _, err := avro.Parse(text); err != nil {
		return "", err
	}
	return canonicalAvro(text), nil
}
