package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"taximeter/cluster/admin"
	"taximeter/cluster/node"
)

const (
	defaultAdmin = "http://127.0.0.1:8080"
	adminTimeout = 10 * time.Second
	maxAnswer    = 256 << 20 // bytes; a trip has at most 20,000 points
)

// adminAPI is a node's admin API, and what it lets us in by.
type adminAPI struct{ base, tokenFile, ca string }

func (a *adminAPI) flags(c *cobra.Command) {
	c.Flags().StringVar(&a.base, "admin", defaultAdmin, "address of any node's admin API")
	c.Flags().StringVar(&a.tokenFile, "token-file", "", "file with the token that the API asks for (default: what TAXIMETER_ADMIN_TOKEN or TAXIMETER_ADMIN_TOKEN_FILE says)")
	c.Flags().StringVar(&a.ca, "ca", "", "PEM file of who signed the API's certificate (default: the system's authorities)")
}

// client lets the request say who asks.
func (a *adminAPI) client(request *http.Request) (*http.Client, error) {
	of := node.Admin{Token: os.Getenv("TAXIMETER_ADMIN_TOKEN"), TokenFile: os.Getenv("TAXIMETER_ADMIN_TOKEN_FILE")}
	if a.tokenFile != "" {
		of = node.Admin{TokenFile: a.tokenFile}
	}
	tokens, err := of.Tokens()
	if err != nil {
		return nil, err
	}
	if len(tokens) > 0 {
		request.Header.Set("Authorization", "Bearer "+tokens[0])
	}
	if a.ca == "" {
		return http.DefaultClient, nil
	}
	text, err := os.ReadFile(a.ca)
	if err != nil {
		return nil, fmt.Errorf("--ca: %w", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("--ca: %s holds no certificate in PEM form", a.ca)
	}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots}}}, nil
}

// ask gets a resource of the admin API.
func (a *adminAPI) ask(ctx context.Context, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, strings.TrimRight(a.base, "/")+path, nil)
	if err != nil {
		return nil, usage(fmt.Errorf("not an address: %q; write --admin %s", a.base, defaultAdmin))
	}
	client, err := a.client(request)
	if err != nil {
		return nil, usage(err)
	}
	answer, err := client.Do(request)
	if err != nil {
		if at, ok := errors.AsType[*url.Error](err); ok {
			err = at.Err
		}
		return nil, fmt.Errorf("no taximeter answers at %s: %w; start one with `taximeter dev`, or name it with --admin", a.base, err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return nil, fmt.Errorf("the answer of %s broke off: %w; try again", a.base, err)
	}
	if answer.StatusCode == http.StatusOK {
		return body, nil
	}
	var problem admin.Problem
	if json.Unmarshal(body, &problem) != nil || problem.Title == "" {
		return nil, fmt.Errorf("%s answers %s: is it the admin API of a taximeter? name that with --admin", a.base, answer.Status)
	}
	if answer.StatusCode == http.StatusUnauthorized {
		return nil, fmt.Errorf("%s lets in nobody without its token: give --token-file FILE or TAXIMETER_ADMIN_TOKEN", a.base)
	}
	return nil, fmt.Errorf("%s: %s", problem.Title, problem.Detail)
}
