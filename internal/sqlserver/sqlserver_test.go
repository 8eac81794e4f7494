//go:build integration

package sqlserver

import (
	"testing"
)

func TestAServerThatWasKilledListensAgain(t *testing.T) {
	for _, kind := range []Kind{Postgres, ClickHouse} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s, err := New(t.Context(), kind, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			}()
			for range 3 {
				if err := s.Start(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := s.Kill(); err != nil {
					t.Fatal(err)
				}
				if listens(s.Address) {
					t.Fatal("it was killed and listens")
				}
			}
		})
	}
}
