// Package kafkaserver prepares Apache Kafka itself for tests, harnesses and benchmarks: one
// broker, its own controller, on 127.0.0.1, and further brokers that join it. It writes the
// settings and formats the log; when the process begins and how it ends is its user's affair.
//
// It must never be part of what ships.
package kafkaserver

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/google/uuid"
)

// Server is a broker's program and folder.
type Server struct {
	Java string // the program; "" = java on the path
	JVM  []string
	Libs string // folder of Kafka's jars
	Dir  string // settings and log
}

// SmallJVM are flags of Java for a broker beside much else: it starts soon and stays small.
func SmallJVM() []string {
	return []string{"-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}
}

// Listener is an address to listen at. The first of a server is also the broker's own.
type Listener struct {
	Name       string
	Address    string
	Advertised string // "" = Address
	Protocol   string // "" = PLAINTEXT
}

// Addresses are free ones.
func Addresses(n int) ([]string, error) {
	all := make([]string, n)
	for i := range all {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // all at the end, so that they differ
		all[i] = l.Addr().String()
	}
	return all, nil
}

// File is the path of a file in the server's folder.
func (s Server) File(name string) string { return filepath.Join(s.Dir, name) }

// Log is the folder of the broker's log.
func (s Server) Log() string { return s.File("log") }

// Broker is the process, not yet begun.
func (s Server) Broker() *exec.Cmd { return s.command("kafka.Kafka", s.File("server.properties")) }

func (s Server) command(class string, args ...string) *exec.Cmd {
	java := s.Java
	if java == "" {
		java = "java"
	}
	cmd := exec.Command(java, append(append([]string{}, s.JVM...), append([]string{"-cp", filepath.Join(s.Libs, "*"), class}, args...)...)...)
	cmd.Dir = s.Dir
	return cmd
}

// Prepare writes the settings, further lines of server.properties with them, and formats
// the log. formatting are further arguments of that, such as SCRAM users.
func (s Server) Prepare(listeners []Listener, controller string, settings []string, formatting ...string) error {
	id := uuid.New()
	return s.format(s.properties(listeners, controller, settings), append([]string{"--standalone", "--cluster-id=" + base64.RawURLEncoding.EncodeToString(id[:])}, formatting...))
}

// Join makes a server that Prepare has not seen a further broker of another's cluster. Its number is above 1.
func (s Server) Join(cluster string, number int, address, controller string, settings ...string) error {
	l := []Listener{{Name: "INTERNAL", Address: address}}
	// Of a setting that comes twice the later counts.
	settings = append([]string{"process.roles=broker", fmt.Sprintf("node.id=%d", number), "listeners=INTERNAL://" + address}, settings...)
	return s.format(s.properties(l, controller, settings), []string{"--no-initial-controllers", "--cluster-id=" + cluster})
}

func (s Server) format(properties string, args []string) error {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return err
	}
	file := s.File("server.properties")
	if err := os.WriteFile(file, []byte(properties), 0o600); err != nil {
		return err
	}
	args = append([]string{"format", "-c", file}, args...)
	if out, err := s.command("kafka.tools.StorageTool", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("format Kafka's log: %w\n%s", err, bytes.TrimSpace(out))
	}
	return nil
}

func (s Server) properties(listeners []Listener, controller string, settings []string) string {
	var at, advertised, protocols []string
	for _, l := range listeners {
		if l.Advertised == "" {
			l.Advertised = l.Address
		}
		if l.Protocol == "" {
			l.Protocol = "PLAINTEXT"
		}
		at, advertised, protocols = append(at, l.Name+"://"+l.Address), append(advertised, l.Name+"://"+l.Advertised), append(protocols, l.Name+":"+l.Protocol)
	}
	return fmt.Sprintf(`process.roles=broker,controller
node.id=1
listeners=%s,CONTROLLER://%s
advertised.listeners=%s
listener.security.protocol.map=%s,CONTROLLER:PLAINTEXT
inter.broker.listener.name=%s
controller.listener.names=CONTROLLER
controller.quorum.bootstrap.servers=%s
log.dirs=%s
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
transaction.state.log.num.partitions=4
offsets.topic.num.partitions=4
auto.create.topics.enable=false
group.initial.rebalance.delay.ms=0
%s
`, strings.Join(at, ","), controller, strings.Join(advertised, ","), strings.Join(protocols, ","), listeners[0].Name, controller, s.Log(), strings.Join(settings, "\n"))
}
