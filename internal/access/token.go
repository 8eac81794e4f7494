package access

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/twmb/franz-go/pkg/sasl/oauth"
	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

const (
	tokenTimeout = 10 * time.Second
	// tokenLeeway before its end a token is not used any more. It is more than brokers and
	// clients leave between asking anew and the end of a session.
	tokenLeeway = 30 * time.Second
)

// tokens gives a connection its token: what the file holds now, or the issuer's, which all
// connections of a client share until it ends.
func (s SASL) tokens() func(context.Context) (oauth.Auth, error) {
	if s.TokenFile != "" {
		return func(context.Context) (oauth.Auth, error) {
			token, err := Secret("", s.TokenFile)
			if err != nil {
				return oauth.Auth{}, fmt.Errorf("kafka.sasl.tokenFile: %w", err)
			}
			return oauth.Auth{Token: token}, nil
		}
	}
	shared := oauth2.ReuseTokenSourceWithExpiry(nil, issuer{s}, tokenLeeway)
	return func(context.Context) (oauth.Auth, error) {
		token, err := shared.Token()
		if err != nil {
			return oauth.Auth{}, err
		}
		return oauth.Auth{Token: token.AccessToken}, nil
	}
}

// issuer asks for a new token every time.
type issuer struct{ sasl SASL }

func (i issuer) Token() (*oauth2.Token, error) {
	s := i.sasl
	password, err := s.password()
	if err != nil {
		return nil, err
	}
	transport, err := TLS{CA: s.TokenCA}.Transport()
	if err != nil {
		return nil, fmt.Errorf("kafka.sasl.tokenCA: %w", err)
	}
	defer transport.CloseIdleConnections()
	ctx := context.WithValue(context.Background(), oauth2.HTTPClient, &http.Client{Timeout: tokenTimeout, Transport: transport})
	token, err := (&clientcredentials.Config{ClientID: s.User, ClientSecret: password, TokenURL: s.TokenURL, Scopes: s.Scopes}).Token(ctx)
	if err != nil {
		return nil, fmt.Errorf("kafka.sasl.tokenURL: %w", err)
	}
	if token.Expiry.IsZero() { // it ends we do not know when: the next connection asks anew
		token.Expiry = time.Now()
	}
	return token, nil
}
