package main

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"taximeter/cmd/internal/outfile"
	"taximeter/cmd/internal/recordings"
)

func newConvert() *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "convert FORMAT IN... -o F.jsonl[.gz]",
		Short: "Turn a public recording of trips into event lines",
		Long: `Turn a public recording of trips (CSV, plain or gzip) into event lines: a ride
start at each trip's first position, its positions in the order of the file, a ride end
at its last. Formats: ` + strings.Join(recordings.Formats(), ", ") + `.

The file appears under its name when it is whole; an older one is removed first.`,
		Example: `  taximeter convert porto porto_trips.csv.gz porto_points.csv.gz -o porto.jsonl.gz
  taximeter convert liverpool bus_positions.csv.gz -o liverpool.jsonl`,
		ValidArgs: recordings.Formats(),
		Args:      arguments("FORMAT IN...", 2, -1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			format, inputs := args[0], args[1:]
			if !slices.Contains(recordings.Formats(), format) {
				return usage(fmt.Errorf("unknown format %q; known are %s", format, strings.Join(recordings.Formats(), ", ")))
			}
			if out == "" {
				return usage(errors.New("no output file; give -o FILE"))
			}
			if err := outfile.MakeWay(inputs, out); err != nil {
				return err
			}
			file, err := outfile.Create(out)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, file.Discard()) }() // what Publish has not named
			summary, err := recordings.Convert(c.Context(), format, inputs, file)
			if at, ok := errors.AsType[*fs.PathError](err); ok {
				err = fmt.Errorf("cannot read the recording %s: %w; check the name and your right to read it", at.Path, at.Err)
			}
			if err != nil {
				return err
			}
			if err := outfile.Publish(file); err != nil {
				return err
			}
			fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", out, summary)
			return nil
		},
	}
	c.Flags().StringVarP(&out, "output", "o", "", "event file to write; .gz is compressed")
	return c
}
