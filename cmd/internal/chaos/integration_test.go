//go:build integration

package chaos

import "testing"

func TestManyCrashRuns(t *testing.T) {
	campaign(t, Options{Binary: build(t)}, 1000, 200)
}

func TestCrashRunsOnRealServers(t *testing.T) {
	real, err := RealFromEnvironment()
	if err != nil {
		t.Fatal(err)
	}
	campaign(t, Options{Binary: build(t), Real: real}, 2000, 20)
}
