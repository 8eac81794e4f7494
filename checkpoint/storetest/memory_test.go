package storetest

import (
	"testing"

	"taximeter/checkpoint"
)

func TestMemory(t *testing.T) {
	Run(t, func(*testing.T) checkpoint.Store { return NewMemory() })
}
