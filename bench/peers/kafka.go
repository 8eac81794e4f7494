package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/internal/kafkaserver"
)

// kafka is one Apache Kafka broker in a process of its own, its own controller. Its log can
// be kept and brought back, so that every run begins with the same one.
type kafka struct {
	kafkaserver.Server
	address string
	cmd     *exec.Cmd
}

// newKafka chooses ports and formats a log.
func newKafka(java, libs, dir string) (*kafka, error) {
	k := &kafka{Server: kafkaserver.Server{Java: java, JVM: []string{"-Xmx1g"}, Libs: libs, Dir: dir}}
	at, err := kafkaserver.Addresses(2)
	if err != nil {
		return nil, err
	}
	k.address = at[0]
	return k, k.Prepare([]kafkaserver.Listener{{Name: "CLIENT", Address: at[0]}}, at[1], nil)
}

// start comes back when the broker answers.
func (k *kafka) start(ctx context.Context) error {
	said, err := os.OpenFile(k.File("kafka.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer said.Close() // the process has its own
	k.cmd = k.Broker()
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
			return errors.Join(fmt.Errorf("no answer from Kafka, see %s: %w", k.File("kafka.log"), ctx.Err()), k.stop())
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
func (k *kafka) keep() error { return os.Rename(k.Log(), k.File("kept")) }

// restore brings the log back that was kept.
func (k *kafka) restore() error {
	if err := os.RemoveAll(k.Log()); err != nil {
		return err
	}
	return os.CopyFS(k.Log(), os.DirFS(k.File("kept")))
}
