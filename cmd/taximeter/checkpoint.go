package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"taximeter/checkpoint"
	"taximeter/cluster/node"
	"taximeter/cmd/internal/operator"
	"taximeter/cmd/internal/ui"
)

func newCheckpoint() *cobra.Command {
	return group(&cobra.Command{
		Use:   "checkpoint",
		Short: "Look into the checkpoints, verify them, go back to one",
		Long: `Look into the chain of checkpoints of a namespace, verify that one is whole, compare
two, or take the namespace back to an earlier one. No node needs to run, and none needs to
be stopped.`,
	}, newCheckpointList(), newCheckpointShow(), newCheckpointVerify(), newCheckpointDiff(), newCheckpointRestore(), newCheckpointForgetSink())
}

// devStore is where `taximeter dev` keeps its checkpoints.
const devStore = "data/dev/checkpoints"

// chainFlags say which chain of checkpoints is meant, and how to show what it tells.
type chainFlags struct {
	config, folder, namespace string
	asJSON                    bool
}

func (o *chainFlags) register(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.config, "config", "", "YAML file of a node's configuration, for its store and namespace; TAXIMETER_* variables lie over it")
	f.StringVar(&o.folder, "store", "", "folder of the checkpoints; without it, --config and TAXIMETER_STORE_*: "+devStore)
	f.StringVar(&o.namespace, "namespace", "", "namespace (default that of the configuration, taximeter)")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
}

// opened is the chain that the flags name.
type opened struct {
	cfg   node.Config
	where string // for people
	store checkpoint.Store
	chain *checkpoint.Chain
}

func (o *chainFlags) open() (opened, error) {
	cfg, err := node.Load(o.config)
	if err != nil {
		return opened{}, usage(err)
	}
	_, folder := os.LookupEnv("TAXIMETER_STORE_FOLDER")
	switch {
	case o.folder != "":
		cfg.Store = node.Store{Folder: o.folder}
	case o.config == "" && !folder && cfg.Store.S3.Bucket == "":
		cfg.Store.Folder = devStore
	}
	if o.namespace != "" {
		cfg.Namespace = o.namespace
	}
	ns := checkpoint.Namespace(cfg.Namespace)
	if err := ns.Check(); err != nil {
		return opened{}, usage(err)
	}
	st, err := cfg.Store.Open()
	if err != nil {
		return opened{}, usage(err)
	}
	where := "folder " + cfg.Store.Folder
	if cfg.Store.S3.Bucket != "" {
		where = "bucket " + cfg.Store.S3.Bucket + "/" + cfg.Store.S3.Prefix
	}
	return opened{cfg: cfg, where: where, store: st, chain: checkpoint.NewChain(st, ns)}, nil
}

// read opens the chain and reads the checkpoint that an optional number names: without one
// the newest.
func (o *chainFlags) read(ctx context.Context, args []string) (opened, checkpoint.Manifest, error) {
	x, err := o.open()
	if err != nil {
		return x, checkpoint.Manifest{}, err
	}
	n, err := newest(args)
	if err != nil {
		return x, checkpoint.Manifest{}, err
	}
	m, err := operator.Read(ctx, x.chain, n)
	return x, m, x.explain(err)
}

// explain puts an error of the chain in the user's words.
func (x opened) explain(err error) error {
	if errors.Is(err, checkpoint.ErrNoChain) {
		return fmt.Errorf("no checkpoints of namespace %s in %s: name the store with --store or --config, the namespace with --namespace", x.cfg.Namespace, x.where)
	}
	return err
}

// retired tells whether a checkpoint that was being read is no longer retained: then what nodes
// have deleted of it is no damage.
func (x opened) retired(ctx context.Context, m checkpoint.Manifest) error {
	tip, err := x.chain.Tip(ctx)
	if err != nil || m.Number >= tip.Oldest {
		return nil //nolint:nilerr // what was met before says more
	}
	return fmt.Errorf("checkpoint %d retired while it was read, since nodes went on; the oldest that is retained has number %d: take a newer one, or raise checkpoint.retain", m.Number, tip.Oldest)
}

// number reads a checkpoint's number.
func number(text string) (checkpoint.Number, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 1 {
		return 0, usage(fmt.Errorf("%q is no checkpoint's number; `taximeter checkpoint list` shows them", text))
	}
	return checkpoint.Number(n), nil
}

// newest reads an optional number; 0 = the newest.
func newest(args []string) (checkpoint.Number, error) {
	if len(args) == 0 {
		return 0, nil
	}
	return number(args[0])
}

// confirm asks whoever sits at the terminal. --yes answers for scripts.
func confirm(ctx context.Context, c *cobra.Command, yes bool) error {
	if yes {
		return nil
	}
	return agree(ctx, c, "give --yes")
}

// agree asks at the terminal; mend is what to do where nobody sits there.
func agree(ctx context.Context, c *cobra.Command, mend string) error {
	in := c.InOrStdin()
	if f, ok := in.(*os.File); ok && !ui.IsTerminal(f) {
		return usage(errors.New("nobody is at the terminal to confirm this; " + mend))
	}
	fmt.Fprint(c.ErrOrStderr(), "Go on? (yes/no) ")
	answer := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(in).ReadString('\n') // what ends it early is no yes
		answer <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case a := <-answer:
		if a == "yes" || a == "y" {
			return nil
		}
		return errors.New("nothing was changed")
	case <-ctx.Done():
		return ctx.Err()
	}
}

// reasonFlag is why an operator changes something; it is kept for ever.
func reasonFlag(c *cobra.Command, reason *string, yes *bool) {
	c.Flags().StringVar(reason, "reason", "", "why, in a sentence; kept on record with your name")
	c.Flags().BoolVar(yes, "yes", false, "do not ask for confirmation")
}

func checkReason(reason string) error {
	if strings.TrimSpace(reason) == "" {
		return usage(errors.New("no reason; give --reason TEXT: it is kept on record"))
	}
	return nil
}

// madeAnyway tells an error that came after the change was made.
func madeAnyway(m checkpoint.Manifest, err error) error {
	if err == nil || m.Number == 0 {
		return err
	}
	return fmt.Errorf("checkpoint %d was made, but: %w", m.Number, err)
}
