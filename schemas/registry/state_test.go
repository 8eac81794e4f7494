package registry

import (
	"slices"
	"strings"
	"testing"
)

const point = `{"type":"record","name":"P","fields":[{"name":"x","type":"double","default":1.50}]}`

func TestTheSameSchemaIsKnownInAnySpelling(t *testing.T) {
	want := canonicalAvro(point)
	same := "{ \"name\": \"\\u0050\", \"type\":\"record\",\n\"fields\":[{\"default\":1.50,\"type\":\"double\",\"name\":\"x\"}]}"
	if got := canonicalAvro(same); got != want {
		t.Errorf("%s is not %s", got, want)
	}
	for _, other := range []string{
		`{"type":"record","name":"P","fields":[{"name":"x","type":"double","default":2.5}]}`,
		`{"type":"record","name":"P","fields":[{"name":"x","type":"double"}]}`,
		`{"type":"record","name":"P","doc":"d","fields":[{"name":"x","type":"double","default":1.50}]}`,
		`{"type":"record","name":"P","fields":[{"name":"x","type":{"type":"bytes","logicalType":"decimal","precision":4,"scale":2}}]}`,
	} {
		if canonicalAvro(other) == want {
			t.Errorf("%s is taken for the same", other)
		}
	}
}

// A log as a Confluent registry leaves it: other keys, deletions, a tombstone, other types.
func TestALogTakenOver(t *testing.T) {
	s := newState()
	var faults []string
	for _, r := range [][2]string{
		{`{"keytype":"NOOP","magic":0}`, ""},
		{`{"keytype":"CONFIG","subject":null,"magic":0}`, `{"compatibilityLevel":"BACKWARD"}`},
		{`{"keytype":"CONTEXT","tenant":"default","context":".","magic":0}`, `{"tenant":"default"}`},
		{`{"keytype":"MODE","subject":null,"magic":0}`, `{"mode":"READWRITE"}`},
		{`{"keytype":"SCHEMA","subject":"a","version":2,"magic":1}`, `{"subject":"a","version":2,"id":7,"md5":"x","schema":"\"long\"","deleted":false}`},
		{`{"keytype":"SCHEMA","subject":"a","version":1,"magic":1}`, `{"subject":"a","version":1,"id":3,"schema":"\"int\"","deleted":true}`},
		{`{"keytype":"SCHEMA","subject":"b","version":1,"magic":1}`, `{"subject":"b","version":1,"id":9,"schemaType":"PROTOBUF","schema":"syntax"}`},
		{`{"keytype":"SCHEMA","subject":"c","version":1,"magic":1}`, `{"subject":"c","version":1,"id":10,"schema":"\"string\""}`},
		{`{"keytype":"SCHEMA","subject":"c","version":1,"magic":1}`, ""},
		{`{"keytype":"SCHEMA","subject":"d","version":4,"magic":1}`, `{"subject":"d","version":4,"id":7,"schema":" \"long\" "}`},
		{`{"keytype":"DELETE_SUBJECT","subject":"b","magic":0}`, `{"subject":"b","version":1}`},
		{`{"keytype":"SCHEMA","subject":"e","version":1,"magic":1}`, `{"subject":"e","version":1,"id":7,"schema":"\"float\""}`},
		{`not JSON`, "{}"},
	} {
		value := []byte(r[1])
		if r[1] == "" {
			value = nil
		}
		if err := s.apply([]byte(r[0]), value); err != nil {
			faults = append(faults, err.Error())
		}
	}
	if got := strings.Join(faults, "\n"); len(faults) != 3 || !strings.Contains(faults[0], `"BACKWARD"`) ||
		!strings.Contains(faults[1], `subject "e" has id 7`) || !strings.Contains(faults[2], "not JSON") {
		t.Errorf("faults:\n%s", got)
	}
	if got := s.subjectNames(); !slices.Equal(got, []string{"a", "d"}) {
		t.Errorf("subjects %v", got)
	}
	for id, want := range map[int]string{3: `"int"`, 7: `"long"`, 9: "syntax", 10: `"string"`} {
		if s.schemas[id] == nil || s.schemas[id].Schema != want {
			t.Errorf("schema %d is %+v: an id once given must stay readable", id, s.schemas[id])
		}
	}
	if v, ok := s.find("d", `"long"`); !ok || v.number != 4 {
		t.Error("the same content under another subject is not found")
	}
	if n := s.next("a", `"int"`, `"int"`); n.Version != 3 || n.ID != 3 {
		t.Errorf("next %+v: a deleted version's number was used again, or its content got a second id", n)
	}
	if n := s.next("b", `"boolean"`, `"boolean"`); n.Version != 2 || n.ID != 11 {
		t.Errorf("next %+v", n)
	}
}

func TestRecordsAreWrittenAsConfluentWritesThem(t *testing.T) {
	key, value, err := schemaRecord(&schemaValue{Subject: "s", Version: 2, ID: 5, Schema: `"int"`})
	if err != nil || string(key) != `{"keytype":"SCHEMA","subject":"s","version":2,"magic":1}` ||
		string(value) != `{"subject":"s","version":2,"id":5,"schema":"\"int\"","deleted":false}` {
		t.Errorf("%s %s %v", key, value, err)
	}
	if key, value, err = configRecord(""); err != nil || string(key) != `{"keytype":"CONFIG","subject":null,"magic":0}` || string(value) != `{"compatibilityLevel":"NONE"}` {
		t.Errorf("%s %s %v", key, value, err)
	}
	if key, _, err = configRecord("s"); err != nil || string(key) != `{"keytype":"CONFIG","subject":"s","magic":0}` {
		t.Errorf("%s %v", key, err)
	}
}
