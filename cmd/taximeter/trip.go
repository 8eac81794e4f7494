package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taximeter/cluster/admin"
)

func newTrip() *cobra.Command {
	return group(&cobra.Command{Use: "trip", Short: "Look into a trip of a running taximeter"}, newTripShow(), newTripExplain())
}

const (
	defaultAdmin = "http://127.0.0.1:8080"
	adminTimeout = 10 * time.Second
	maxAnswer    = 256 << 20 // bytes; a trip has at most 20,000 points
)

// tripCommand asks the admin API about a trip and shows the answer of type T.
func tripCommand[T any](c *cobra.Command, resource string, show func(io.Writer, *T)) *cobra.Command {
	var base string
	var asJSON bool
	c.Args = arguments("a trip's ID", 1, 1)
	c.RunE = func(c *cobra.Command, args []string) error {
		body, err := ask(c.Context(), base, "/trips/"+url.PathEscape(args[0])+resource)
		if err != nil {
			return fmt.Errorf("trip %s: %w", args[0], err)
		}
		if asJSON {
			_, err := c.OutOrStdout().Write(body)
			return err
		}
		var answer T
		if err := json.Unmarshal(body, &answer); err != nil {
			return fmt.Errorf("trip %s: %s answers something else than a trip: %w; use the same version here and there, or --json", args[0], base, err)
		}
		show(c.OutOrStdout(), &answer)
		return nil
	}
	c.Flags().StringVar(&base, "admin", defaultAdmin, "address of a node's admin API")
	c.Flags().BoolVar(&asJSON, "json", false, "print the answer as the API gives it")
	return c
}

// ask gets a resource of the admin API.
func ask(ctx context.Context, base, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(base, "/")+path, nil)
	if err != nil {
		return nil, usage(fmt.Errorf("not an address: %q; write --admin %s", base, defaultAdmin))
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		if at, ok := errors.AsType[*url.Error](err); ok {
			err = at.Err
		}
		return nil, fmt.Errorf("no taximeter answers at %s: %w; start one with `taximeter dev`, or name it with --admin", base, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("the answer of %s broke off: %w; try again", base, err)
	}
	if answer.StatusCode == http.StatusOK {
		return body, nil
	}
	var problem admin.Problem
	if json.Unmarshal(body, &problem) != nil || problem.Title == "" {
		return nil, fmt.Errorf("%s answers %s: is it the admin API of a taximeter? name that with --admin", base, answer.Status)
	}
	return nil, fmt.Errorf("%s: %s", problem.Title, problem.Detail)
}
