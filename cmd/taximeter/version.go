package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print which build this is",
		Args:  arguments("nothing", 0, 0),
		RunE: func(c *cobra.Command, _ []string) error {
			fmt.Fprintln(c.OutOrStdout(), version())
			return nil
		},
	}
}

// version says what the Go tool wrote into the binary.
func version() string {
	number, revision, dirty := "(devel)", "", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		number = info.Main.Version
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				revision = ", commit " + s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = " with changes"
			}
		}
	}
	return fmt.Sprintf("taximeter %s%s%s, %s %s/%s", number, revision, dirty, runtime.Version(), runtime.GOOS, runtime.GOARCH)
}
