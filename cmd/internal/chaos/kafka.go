package chaos

import (
	"bytes"
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
	"github.com/twmb/franz-go/pkg/kmsg"
)

// kafka is one Kafka broker, and its own controller, in a process of its own. What it says
// to itself does not go through the proxy.
type kafka struct {
	libs string
	dir  string
	cmd  *exec.Cmd

	client, internal, controller string // addresses; "" = not chosen yet
}

func (k *kafka) start(ctx context.Context, advertised string) (string, error) {
	if k.client == "" {
		if err := k.prepare(ctx, advertised); err != nil {
			return "", err
		}
	}
	said, err := os.OpenFile(filepath.Join(k.dir, "kafka.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	defer said.Close() // the process has its own
	k.cmd = k.java("kafka.Kafka", filepath.Join(k.dir, "server.properties"))
	k.cmd.Stdout, k.cmd.Stderr = said, said
	dieWithUs(k.cmd)
	if err := k.cmd.Start(); err != nil {
		return "", fmt.Errorf("start Kafka: %w", err)
	}
	if err := k.ready(ctx); err != nil {
		return "", errors.Join(err, k.stop())
	}
	return k.client, nil
}

func (k *kafka) java(class string, args ...string) *exec.Cmd {
	cmd := exec.Command("java", append([]string{"-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", filepath.Join(k.libs, "*"), class}, args...)...)
	cmd.Dir = k.dir
	return cmd
}

// prepare chooses ports and formats the folder.
func (k *kafka) prepare(ctx context.Context, advertised string) error {
	if err := os.MkdirAll(k.dir, 0o755); err != nil {
		return err
	}
	for _, address := range []*string{&k.client, &k.internal, &k.controller} {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer l.Close() // all three at the end, so that they differ
		*address = l.Addr().String()
	}
	properties := filepath.Join(k.dir, "server.properties")
	if err := os.WriteFile(properties, []byte(k.properties(advertised)), 0o600); err != nil {
		return err
	}
	id := uuid.New()
	cluster := base64.RawURLEncoding.EncodeToString(id[:])
	if out, err := k.java("kafka.tools.StorageTool", "format", "--standalone", "--cluster-id="+cluster, "-c", properties).CombinedOutput(); err != nil {
		return fmt.Errorf("format Kafka's folder: %w\n%s", err, bytes.TrimSpace(out))
	}
	return ctx.Err()
}

func (k *kafka) properties(advertised string) string {
	return fmt.Sprintf(`process.roles=broker,controller
node.id=1
listeners=CLIENT://%s,INTERNAL://%s,CONTROLLER://%s
advertised.listeners=CLIENT://%s,INTERNAL://%s
listener.security.protocol.map=CLIENT:PLAINTEXT,INTERNAL:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=INTERNAL
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
`, k.client, k.internal, k.controller, advertised, k.internal, k.controller, filepath.Join(k.dir, "log"))
}

// ready waits until the broker answers.
func (k *kafka) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for !answers(k.client) {
		if !pause(ctx, 50*time.Millisecond) {
			return fmt.Errorf("%w: Kafka does not answer; see %s", errStuck, filepath.Join(k.dir, "kafka.log"))
		}
	}
	return nil
}

// answers asks a broker for its versions.
func answers(address string) bool {
	c, err := net.DialTimeout("tcp", address, time.Second)
	if err != nil {
		return false
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return false
	}
	request := kmsg.NewRequestFormatter().AppendRequest(nil, kmsg.NewPtrApiVersionsRequest(), 1)
	if _, err := c.Write(request); err != nil {
		return false
	}
	_, err = frame(c)
	return err == nil
}

// stop kills the broker, as a machine that goes down does.
func (k *kafka) stop() error {
	if k.cmd == nil {
		return nil
	}
	err := k.cmd.Process.Signal(syscall.SIGKILL)
	if waited := k.cmd.Wait(); waited != nil && err != nil {
		err = errors.Join(err, waited)
	}
	k.cmd = nil
	return err
}
