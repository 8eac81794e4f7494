package partition_test

import (
	"flag"
	"os"
	"testing"
)

// The properties are cheap, so they run far more cases than rapid's default; a flag on
// the command line still wins.
func TestMain(m *testing.M) {
	flag.Parse()
	given := make(map[string]bool)
	flag.Visit(func(f *flag.Flag) { given[f.Name] = true })
	for name, value := range map[string]string{"rapid.checks": "2000", "rapid.nofailfile": "true", "rapid.shrinktime": "5s"} {
		if !given[name] {
			if err := flag.Set(name, value); err != nil {
				panic(err)
			}
		}
	}
	os.Exit(m.Run())
}
