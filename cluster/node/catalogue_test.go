package node

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"taximeter/actors/ingest"
	"taximeter/schemas/codec"
	"taximeter/schemas/registry"
)

// A replica of the registry may hear of a schema later than the topic of its first record.
func TestATariffOfASchemaThatIsNotKnownYetIsReadAgain(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte(`{"error_code":40403,"message":"Schema not found"}`))
	}))
	defer server.Close()
	client, err := registry.NewClient(registry.ClientConfig{URLs: []string{server.URL}})
	if err != nil {
		t.Fatal(err)
	}
	n := &Node{registry: client}
	for age, refused := range map[time.Duration]bool{0: false, unknownFor / 2: false, 2 * unknownFor: true} {
		e := ingest.Entry{At: time.Now().Add(-age), Value: []byte{0, 0, 0, 0, 7, 1}}
		if _, err := read(n, codec.NewTariffReader(), e); err == nil || errors.Is(err, errRefused) != refused {
			t.Errorf("%s old: %v, refused for good: %v", age, err, refused)
		}
	}
}
