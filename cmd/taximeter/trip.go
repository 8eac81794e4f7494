package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/url"

	"github.com/spf13/cobra"
)

func newTrip() *cobra.Command {
	return group(&cobra.Command{Use: "trip", Short: "Look into a trip of a running taximeter"}, newTripShow(), newTripExplain())
}

// tripCommand asks the admin API about a trip and shows the answer of type T.
func tripCommand[T any](c *cobra.Command, resource string, show func(io.Writer, *T)) *cobra.Command {
	var from adminAPI
	var asJSON bool
	c.Args = arguments("a trip's ID", 1, 1)
	c.RunE = func(c *cobra.Command, args []string) error {
		body, err := from.ask(c.Context(), "/trips/"+url.PathEscape(args[0])+resource)
		if err != nil {
			return fmt.Errorf("trip %s: %w", args[0], err)
		}
		if asJSON {
			_, err := c.OutOrStdout().Write(body)
			return err
		}
		var answer T
		if err := json.Unmarshal(body, &answer); err != nil {
			return fmt.Errorf("trip %s: %s answers something else than a trip: %w; use the same version here and there, or --json", args[0], from.base, err)
		}
		show(c.OutOrStdout(), &answer)
		return nil
	}
	from.flags(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print the answer as the API gives it")
	return c
}
