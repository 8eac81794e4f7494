package access

import (
	"net/url"
	"strings"
)

const hidden = "xxxxx"

// Redacted is an address for messages, without password and parameters. What cannot be read as
// an address is not shown at all: nobody knows where its password stands.
func Redacted(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" && strings.Contains(address, "=") {
		return hidden
	}
	bare := *u
	bare.User = nil
	if strings.Contains(bare.String(), "@") {
		return hidden
	}
	u.RawQuery = ""
	return u.Redacted()
}
