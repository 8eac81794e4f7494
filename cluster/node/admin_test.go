package node

import (
	"net"
	"testing"
)

func TestAdminExposed(t *testing.T) {
	for _, c := range []struct {
		ip   string
		a    Admin
		want bool
	}{
		{"127.0.0.1", Admin{}, false},
		{"::1", Admin{}, false},
		{"::", Admin{}, true},
		{"10.0.0.7", Admin{}, true},
		{"10.0.0.7", Admin{Token: "t"}, false},
		{"::", Admin{TokenFile: "f"}, false},
	} {
		if got := c.a.exposed(&net.TCPAddr{IP: net.ParseIP(c.ip)}); got != c.want {
			t.Errorf("%s with %+v: %v", c.ip, c.a, got)
		}
	}
}
