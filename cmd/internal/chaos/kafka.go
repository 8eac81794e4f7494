package chaos

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kmsg"

	"taximeter/internal/kafkaserver"
	"taximeter/internal/leash"
)

// kafka is one Kafka broker, and its own controller, in a process of its own. What it says
// to itself does not go through the proxy.
type kafka struct {
	kafkaserver.Server
	cmd    *exec.Cmd
	client string // address; "" = not chosen yet
}

func newKafka(libs, dir string) *kafka {
	return &kafka{Server: kafkaserver.Server{JVM: kafkaserver.SmallJVM(), Libs: libs, Dir: dir}}
}

func (k *kafka) start(ctx context.Context, advertised string) (string, error) {
	if k.client == "" {
		if err := k.prepare(ctx, advertised); err != nil {
			return "", err
		}
	}
	said, err := os.OpenFile(k.File("kafka.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return "", err
	}
	defer said.Close() // the process has its own
	k.cmd = k.Broker()
	k.cmd.Stdout, k.cmd.Stderr = said, said
	leash.Tie(k.cmd)
	if err := k.cmd.Start(); err != nil {
		return "", fmt.Errorf("start Kafka: %w", err)
	}
	if err := k.ready(ctx); err != nil {
		return "", errors.Join(err, k.stop())
	}
	return k.client, nil
}

// prepare chooses ports and formats the folder.
func (k *kafka) prepare(ctx context.Context, advertised string) error {
	at, err := kafkaserver.Addresses(3)
	if err != nil {
		return err
	}
	k.client = at[0]
	if err := k.Prepare([]kafkaserver.Listener{{Name: "INTERNAL", Address: at[1]}, {Name: "CLIENT", Address: at[0], Advertised: advertised}}, at[2], nil); err != nil {
		return err
	}
	return ctx.Err()
}

// ready waits until the broker answers.
func (k *kafka) ready(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	for !answers(k.client) {
		if !pause(ctx, 50*time.Millisecond) {
			return fmt.Errorf("%w: Kafka does not answer; see %s", errStuck, k.File("kafka.log"))
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
