package registry

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// state is what the log says, record by record. It is a pure function of the log.
type state struct {
	schemas    map[int]*schemaValue // by id; the first record of the id
	ids        map[string]int       // by canonical form
	subjects   map[string][]version // ascending by number
	configured map[string]bool      // subjects with a level of their own (it is NONE)
	maxID      int
}

type version struct {
	number  int
	id      int
	deleted bool // in a log taken over: hidden, but its number and id stay used
}

func newState() *state {
	return &state{schemas: make(map[int]*schemaValue), ids: make(map[string]int),
		subjects: make(map[string][]version), configured: make(map[string]bool)}
}

// apply takes the next record of the log. An error says why it is left out.
func (s *state) apply(key, value []byte) error {
	var k logKey
	if err := json.Unmarshal(key, &k); err != nil {
		return fmt.Errorf("key %q: %w", key, err)
	}
	switch k.KeyType {
	case keySchema:
		return s.applySchema(k, value)
	case keyDeleteSubject:
		var v deleteValue
		if err := json.Unmarshal(value, &v); err != nil {
			return fmt.Errorf("deletion of subject %q: %w", k.subject(), err)
		}
		versions := s.subjects[k.subject()]
		for i := range versions {
			versions[i].deleted = versions[i].deleted || versions[i].number <= v.Version
		}
	case keyConfig:
		s.configured[k.subject()] = value != nil
		var v configValue
		if err := json.Unmarshal(value, &v); value != nil && (err != nil || v.Level != levelNone) {
			return fmt.Errorf("compatibility level %q of subject %q is not enforced: only %s is", v.Level, k.subject(), levelNone)
		}
	}
	return nil // NOOP, MODE and the records of features that we do not have
}

func (s *state) applySchema(k logKey, value []byte) error {
	at := slices.IndexFunc(s.subjects[k.subject()], func(v version) bool { return v.number == k.Version })
	if value == nil {
		if at >= 0 {
			s.subjects[k.subject()] = slices.Delete(s.subjects[k.subject()], at, at+1)
		}
		return nil
	}
	v := new(schemaValue)
	if err := json.Unmarshal(value, v); err != nil {
		return fmt.Errorf("version %d of subject %q: %w", k.Version, k.subject(), err)
	}
	canonical := v.canonical()
	if _, taken := s.schemas[v.ID]; !taken {
		s.schemas[v.ID] = v
		if _, known := s.ids[canonical]; !known {
			s.ids[canonical] = v.ID
		}
		s.maxID = max(s.maxID, v.ID)
	} else if s.schemas[v.ID].canonical() != canonical {
		return fmt.Errorf("version %d of subject %q has id %d, which is another schema's: was a second registry writing?",
			k.Version, k.subject(), v.ID)
	}
	if at >= 0 {
		s.subjects[k.subject()][at] = version{k.Version, v.ID, v.Deleted}
		return nil
	}
	s.subjects[k.subject()] = append(s.subjects[k.subject()], version{k.Version, v.ID, v.Deleted})
	slices.SortFunc(s.subjects[k.subject()], func(a, b version) int { return a.number - b.number })
	return nil
}

// visible is the subject's versions that are not deleted.
func (s *state) visible(subject string) []version {
	var live []version
	for _, v := range s.subjects[subject] {
		if !v.deleted {
			live = append(live, v)
		}
	}
	return live
}

// subjectNames lists the subjects with a visible version.
func (s *state) subjectNames() []string {
	names := []string{} // [] in JSON, not null
	for _, name := range slices.Sorted(maps.Keys(s.subjects)) {
		if len(s.visible(name)) > 0 {
			names = append(names, name)
		}
	}
	return names
}

// find is the subject's newest visible version with that content.
func (s *state) find(subject, canonical string) (version, bool) {
	id, ok := s.ids[canonical]
	if !ok {
		return version{}, false
	}
	for _, v := range slices.Backward(s.visible(subject)) {
		if v.id == id {
			return v, true
		}
	}
	return version{}, false
}

// next is the record that would make the schema the subject's newest version: one content
// has one id in all subjects, and neither ids nor versions are used twice.
func (s *state) next(subject, text, canonical string) *schemaValue {
	v := &schemaValue{Subject: subject, Version: 1, ID: s.ids[canonical], Schema: text}
	if v.ID == 0 {
		v.ID = s.maxID + 1
	}
	if all := s.subjects[subject]; len(all) > 0 {
		v.Version = all[len(all)-1].number + 1
	}
	return v
}

// described is a version as the REST answers show it.
func (s *state) described(subject string, v version) *schemaValue {
	d := *s.schemas[v.id]
	d.Subject, d.Version, d.Deleted = subject, v.number, false
	return &d
}
