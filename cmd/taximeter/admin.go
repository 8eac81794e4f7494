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
	"taximeter/internal/access"
)

const (
	defaultAdmin = "http://127.0.0.1:8080"
	adminTimeout = 10 * time.Second
	maxAnswer    = 256 << 20 // bytes; a trip has at most 20,000 points
)

// adminAPI is a node's admin API, and what it lets us in by.
type adminAPI struct {
	base, tokenFile string
	tls             access.TLS
}

func (a *adminAPI) flags(c *cobra.Command) {
	c.Flags().StringVar(&a.base, "admin", defaultAdmin, "address of any node's admin API")
	c.Flags().StringVar(&a.tokenFile, "token-file", "", "file with the token that the API asks for (default: what TAXIMETER_ADMIN_TOKEN or TAXIMETER_ADMIN_TOKEN_FILE says)")
	c.Flags().StringVar(&a.tls.ServerName, "server-name", "", "name that the API's certificate is made out to (default: the host of --admin)")
	c.Flags().StringVar(&a.tls.CA, "ca", "", "PEM file of who signed the API's certificate (default: the system's authorities)")
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
	transport, err := a.tls.Transport()
	if err != nil {
		return nil, fmt.Errorf("--%w", err) // "ca: ..."
	}
	transport.DisableKeepAlives = true // for one question
	return &http.Client{Transport: transport}, nil
}

// ask gets a resource of the admin API.
func (a *adminAPI) ask(ctx context.Context, path string) ([]byte, error) {
	return a.do(ctx, http.MethodGet, path)
}

func (a *adminAPI) do(ctx context.Context, method, path string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, adminTimeout)
	defer cancel()
	base := access.Redacted(a.base)
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimRight(a.base, "/")+path, nil)
	if err != nil {
		return nil, usage(fmt.Errorf("--admin is not an address: write --admin %s", defaultAdmin))
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
		if mend := certificateMend(err); mend != "" {
			return nil, fmt.Errorf("%s: %w; %s", base, err, mend)
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
	if answer.StatusCode == http.StatusUnauthorized {
		return nil, fmt.Errorf("%s lets in nobody without its token: give --token-file FILE or TAXIMETER_ADMIN_TOKEN", base)
	}
	return nil, fmt.Errorf("%s: %s", problem.Title, problem.Detail)
}

// certificateMend says what to give against a server whose certificate does not hold; "" = it is another error.
func certificateMend(err error) string {
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "give --server-name with the name that the certificate is made out to"
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "give --ca with the authority that signed the certificate"
	}
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired {
		return "let the node have a certificate that holds today"
	}
	if _, ok := errors.AsType[tls.RecordHeaderError](err); ok {
		return "the API is in clear text: write --admin http://"
	}
	return ""
}
