package avro

import (
	"encoding/json"
	"strings"
	"testing"

	twmb "github.com/twmb/avro"
)

func TestEveryContractIsAvroWithDocs(t *testing.T) {
	for _, c := range Contracts() {
		if _, err := twmb.Parse(c.Schema); err != nil {
			t.Errorf("%s: %v", c.Topic, err)
		}
		var tree any
		if err := json.Unmarshal([]byte(c.Schema), &tree); err != nil {
			t.Fatalf("%s: %v", c.Topic, err)
		}
		needDocs(t, c.Topic, tree)
	}
}

// needDocs fails for each record, enum and field without a doc, and for each nullable
// field whose default is not null.
func needDocs(t *testing.T, path string, tree any) {
	switch v := tree.(type) {
	case []any:
		for _, x := range v {
			needDocs(t, path, x)
		}
	case map[string]any:
		if name, ok := v["name"].(string); ok {
			path += "/" + name
			if doc, _ := v["doc"].(string); !strings.HasSuffix(doc, ".") {
				t.Errorf("%s has no doc", path)
			}
			if union, ok := v["type"].([]any); ok && union[0] == "null" {
				if def, ok := v["default"]; !ok || def != nil {
					t.Errorf("%s is nullable without default null", path)
				}
			}
		}
		for _, k := range []string{"type", "fields", "items"} {
			needDocs(t, path, v[k])
		}
	}
}

func TestSubjects(t *testing.T) {
	c, ok := Of("pagamentos.eventos")
	if !ok || c.Subject() != "pagamentos.eventos-value" || c.Schema != EventoPagamento {
		t.Errorf("contract of pagamentos.eventos: %v %v", ok, c.Subject())
	}
	if _, ok := Of("corridas.dlq"); ok {
		t.Error("dead letters are not Avro")
	}
}
