package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/twmb/franz-go/pkg/kgo"
)

// kafka is one Apache Kafka broker in a process of its own, its own controller. Its log can
// be kept and brought back, so that every run begins with the same one.
type kafka struct {
	java, libs, dir string
	address         string
	controller      string
	cmd             *exec.Cmd
}

// newKafka chooses ports and formats a log.
func newKafka(java, libs, dir string) (*kafka, error) {
	k := &kafka{java: java, libs: libs, dir: dir}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	for _, address := range []*string{&k.address, &k.controller} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // both at the end, so that they differ
		*address = l.Addr().String()
	}
	if err := os.WriteFile(k.file("server.properties"), []byte(k.properties()), 0o600); err != nil {
		return nil, err
	}
	id := uuid.New()
	out, err := k.command("kafka.tools.StorageTool", "format", "--standalone", "--cluster-id="+base64.RawURLEncoding.EncodeToString(id[:]),
		"-c", k.file("server.properties")).CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("format Kafka's log: %w\n%s", err, out)
	}
	return k, nil
}

func (k *kafka) file(name string) string { return filepath.Join(k.dir, name) }

func (k *kafka) command(class string, args ...string) *exec.Cmd {
	cmd := exec.Command(k.java, append([]string{"-Xmx1g", "-cp", filepath.Join(k.libs, "*"), class}, args...)...)
	cmd.Dir = k.dir
	return cmd
}

func (k *kafka) properties() string {
	return fmt.Sprintf(`process.roles=broker,controller
node.id=1
listeners=CLIENT://%s,CONTROLLER://%s
advertised.listeners=CLIENT://%s
listener.security.protocol.map=CLIENT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=CLIENT
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
`, k.address, k.controller, k.address, k.controller, k.file("log"))
}

// start comes back when the broker answers.
func (k *kafka) start(ctx context.Context) error {
	said, err := os.OpenFile(k.file("kafka.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer said.Close() // the process has its own
	k.cmd = k.command("kafka.Kafka", k.file("server.properties"))
	k.cmd.Stdout, k.cmd.Stderr = said, said
	if err := k.cmd.Start(); err != nil {
		return fmt.Errorf("start Kafka: %w", err)
	}
	client, err := kgo.NewClient(kgo.SeedBrokers(k.address))
	if err != nil {
		return errors.Join(err, k.stop())
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	for client.Ping(ctx) != nil {
		select {
		case <-ctx.Done():
			return errors.Join(fmt.Errorf("no answer from Kafka, see %s: %w", k.file("kafka.log"), ctx.Err()), k.stop())
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

// stop ends the broker in order, so that its log needs no recovery.
func (k *kafka) stop() error {
	if k.cmd == nil {
		return nil
	}
	cmd := k.cmd
	k.cmd = nil
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	const byTheSignal = 128 + int(syscall.SIGTERM) // what a JVM then exits with
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != byTheSignal {
		return fmt.Errorf("the end of Kafka: %w", err)
	}
	return nil
}

// keep sets the log of a stopped broker aside.
func (k *kafka) keep() error { return os.Rename(k.file("log"), k.file("kept")) }

// restore brings the log back that was kept.
func (k *kafka) restore() error {
	if err := os.RemoveAll(k.file("log")); err != nil {
		return err
	}
	return os.CopyFS(k.file("log"), os.DirFS(k.file("kept")))
}
