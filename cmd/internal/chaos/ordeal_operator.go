package chaos

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"taximeter/cmd/internal/chaos/inject"
	"taximeter/internal/leash"
	"taximeter/schemas"
)

// operator is somebody with the taximeter command and the node's configuration.
type operator struct {
	quiet
	run *ordealRun
	env map[string]string
}

func (o *operator) arm(_ *inject.Plan, environment map[string]string) error {
	o.env = environment
	return nil
}

// command runs taximeter beside the node.
func (o *operator) command(ctx context.Context, args ...string) error {
	cmd := exec.CommandContext(ctx, o.run.o.Binary, append(args, "--yes")...)
	cmd.Env = environ(o.env)
	leash.Tie(cmd)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("taximeter %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// takesBack is an operator who takes the running node back by four checkpoints.
type takesBack struct{ operator }

const takenBack = 4

func (t *takesBack) begin(ctx context.Context) error {
	if _, err := t.run.public(ctx, takenBack+2); err != nil {
		return err
	}
	now, err := t.run.look(ctx)
	if err != nil {
		return err
	}
	if _, err := t.run.public(ctx, now.tip); err != nil { // also tables have what is taken back
		return err
	}
	// The node may have made more since it was asked; more than four back is as good.
	return t.command(ctx, "checkpoint", "restore", strconv.FormatInt(now.tip-takenBack, 10), "--unverified", "--reason", "a drill")
}

// passedBy is a topic whose retention takes records away before the node has read them: the
// partition stands still until an operator accepts the gap. The records were none of the
// scenario's, so what comes out is the same.
type passedBy struct{ operator }

// gap is how many records are gone.
const gap = 7

func (p *passedBy) begin(ctx context.Context) error {
	p.run.held.Store(true)
	if err := p.run.readAll(ctx); err != nil {
		return err
	}
	p.run.wire.darken(true)
	defer p.run.wire.darken(false)
	client, err := kgo.NewClient(append(p.run.direct(), kgo.RecordPartitioner(kgo.ManualPartitioner()))...)
	if err != nil {
		return err
	}
	defer client.Close()
	for range gap {
		r := &kgo.Record{Topic: schemas.TopicTelemetry, Partition: 0, Value: []byte("lost")}
		if err := client.ProduceSync(ctx, r).FirstErr(); err != nil {
			return err
		}
	}
	admin := kadm.NewClient(client)
	ends, err := admin.ListEndOffsets(ctx, schemas.TopicTelemetry)
	if err != nil {
		return err
	}
	end, ok := ends.Lookup(schemas.TopicTelemetry, 0)
	if !ok {
		return errors.New("the broker knows no end of the topic")
	}
	gone := kadm.Offsets{}
	gone.Add(kadm.Offset{Topic: schemas.TopicTelemetry, Partition: 0, At: end.Offset})
	deleted, err := admin.DeleteRecords(ctx, gone)
	return errors.Join(err, deleted.Error())
}

func (p *passedBy) end(ctx context.Context) error {
	defer p.run.held.Store(false)
	why := ""
	err := until(ctx, p.run.x.patience(), func() bool {
		at, err := p.run.look(ctx)
		if err != nil {
			return false
		}
		stuck := at.partitions[0]
		why = fmt.Sprintf("stopped %q, missing %d", stuck.Stopped, stuck.Missing)
		return stuck.Stopped[schemas.Telemetry] == "fora_do_intervalo" && stuck.Missing[schemas.Telemetry] == gap
	})
	if err != nil {
		return fmt.Errorf("partition 0 should tell the exact gap: %w: %s", err, why)
	}
	if err := p.command(ctx, "partition", "set-offset", "--partition", "0", "--topic", schemas.TopicTelemetry, "--offset", "earliest", "--reason", "a drill"); err != nil {
		return err
	}
	return until(ctx, p.run.x.patience(), func() bool {
		at, err := p.run.look(ctx)
		return err == nil && at.partitions[0].Skipped[schemas.Telemetry] == gap && at.partitions[0].State == "running"
	})
}

func (*passedBy) holds(schemas.Partition) bool { return true }
