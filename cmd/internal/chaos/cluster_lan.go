package chaos

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
)

// lan is where the nodes of a run live: a network namespace for each behind one bridge, so
// that a node can be cut off from the rest. Without the right to make namespaces all live on
// the loopback interface, and nobody can be cut off.
type lan struct {
	name    string // of the bridge, and the beginning of all other names; "" = loopback
	subnet  int
	members int
}

// newLAN makes namespaces if this process may.
func newLAN() (*lan, error) {
	if os.Geteuid() != 0 {
		return &lan{}, nil
	}
	if path, _ := exec.LookPath("ip"); path == "" {
		return &lan{}, nil
	}
	subnet := os.Getpid() % 250
	l := &lan{name: "tmx" + strconv.Itoa(subnet), subnet: subnet}
	if allowed := l.ip("link add %s type bridge", l.name) == nil; !allowed {
		return &lan{}, nil // a container without the capability
	}
	err := errors.Join(l.ip("addr add %s/24 dev %s", l.gateway(), l.name), l.ip("link set %s up", l.name))
	if err != nil {
		return nil, errors.Join(err, l.close())
	}
	return l, nil
}

func (l *lan) loopback() bool { return l.name == "" }

// gateway is the address at which the harness serves the nodes.
func (l *lan) gateway() string {
	if l.loopback() {
		return "127.0.0.1"
	}
	return fmt.Sprintf("10.213.%d.1", l.subnet)
}

func (l *lan) space(i int) string { return fmt.Sprintf("%s-%d", l.name, i) }
func (l *lan) link(i int) string  { return fmt.Sprintf("%sn%d", l.name, i) }

// add makes the namespace of node i, and gives its address.
func (l *lan) add(i int) (ip string, err error) {
	if l.loopback() {
		return "127.0.0.1", nil
	}
	ip = fmt.Sprintf("10.213.%d.%d", l.subnet, 10+i)
	l.members = max(l.members, i+1)
	return ip, errors.Join(
		l.ip("netns add %s", l.space(i)),
		l.ip("link add %s type veth peer name eth0 netns %s", l.link(i), l.space(i)),
		l.ip("link set %s master %s up", l.link(i), l.name),
		l.ip("-n %s addr add %s/24 dev eth0", l.space(i), ip),
		l.ip("-n %s link set eth0 up", l.space(i)),
		l.ip("-n %s link set lo up", l.space(i)))
}

// command runs a program as node i.
func (l *lan) command(i int, binary string, args ...string) *exec.Cmd {
	if l.loopback() {
		return exec.Command(binary, args...)
	}
	return exec.Command("ip", append([]string{"netns", "exec", l.space(i), binary}, args...)...)
}

// cut takes node i off the network, or lets it back.
func (l *lan) cut(i int, off bool) error {
	state := "up"
	if off {
		state = "down"
	}
	return l.ip("link set %s %s", l.link(i), state)
}

// split hides nodes from each other, those before k from the rest, or shows them again.
func (l *lan) split(nodes []*member, k int, hidden bool) error {
	what := "del"
	if hidden {
		what = "add"
	}
	var errs []error
	for i, m := range nodes {
		for j, other := range nodes {
			if (i < k) != (j < k) {
				errs = append(errs, l.ip("-n %s route %s blackhole %s/32", l.space(m.index), what, other.ip))
			}
		}
	}
	return errors.Join(errs...)
}

func (l *lan) close() error {
	if l.loopback() {
		return nil
	}
	var errs []error
	for i := range l.members {
		errs = append(errs, l.ip("netns del %s", l.space(i)))
	}
	return errors.Join(append(errs, l.ip("link del %s", l.name))...)
}

func (l *lan) ip(format string, args ...any) error {
	words := strings.Fields(fmt.Sprintf(format, args...))
	if out, err := exec.Command("ip", words...).CombinedOutput(); err != nil {
		return fmt.Errorf("ip %s: %w: %s", strings.Join(words, " "), err, strings.TrimSpace(string(out)))
	}
	return nil
}

// freePort is one that nobody listens at now.
func freePort(ip string) (string, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		return "", err
	}
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), l.Close()
}
