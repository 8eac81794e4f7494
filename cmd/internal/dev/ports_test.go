package dev

import (
	"net"
	"strings"
	"testing"
)

// The flag that takes any free port is told for the port that is taken, and for no other fault.
func TestTakenPortsNameTheirFlag(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	port := taken.Addr().(*net.TCPAddr).Port
	for flag, set := range map[string]func(*Options){
		"--kafka-port":    func(o *Options) { o.KafkaPort = port },
		"--registry-port": func(o *Options) { o.RegistryPort = port },
		"--admin-port":    func(o *Options) { o.AdminPort = port },
	} {
		o := quiet(t)
		set(&o)
		if _, err := Run(t.Context(), o); err == nil || strings.Count(err.Error(), "("+flag+" 0 takes any free one)") != 1 || strings.Count(err.Error(), "any free one)") != 1 {
			t.Errorf("%s: %v", flag, err)
		}
	}
}

func TestOtherFaultsNameNoPortFlag(t *testing.T) {
	o := quiet(t)
	t.Run("a data folder in use", func(t *testing.T) {
		open(t, o)
		if _, err := Run(t.Context(), o); err == nil || strings.Contains(err.Error(), "-port") || !strings.Contains(err.Error(), "in use by another process") {
			t.Error(err)
		}
	})
	t.Run("another number of partitions", func(t *testing.T) {
		o.Partitions++
		if _, err := Run(t.Context(), o); err == nil || strings.Contains(err.Error(), "-port") {
			t.Error(err)
		}
	})
}

func TestPortsMustDiffer(t *testing.T) {
	o := DefaultOptions()
	o.AdminPort = o.KafkaPort
	if err := o.Validate(); err == nil || !strings.Contains(err.Error(), "--admin-port 9092: --kafka-port is the same") {
		t.Error(err)
	}
	o.AdminPort, o.KafkaPort, o.RegistryPort = 0, 0, 0
	if err := o.Validate(); err != nil {
		t.Error(err)
	}
}
