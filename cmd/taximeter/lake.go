package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"taximeter/checkpoint"
	"taximeter/cluster/node"
	"taximeter/cmd/internal/ui"
	"taximeter/schemas"
	"taximeter/sinks/iceberg"
)

func newLake() *cobra.Command {
	return group(&cobra.Command{
		Use:   "lake",
		Short: "Look at the lake's tables, keep them in shape",
		Long: `Look at the Iceberg tables of all events and results, and keep them in shape. The nodes
do the latter by themselves, so no command here is needed for it. No node needs to run, and
none needs to be stopped.`,
	}, newLakeStatus(), newLakeMaintain())
}

// devLake is where `taximeter dev --tables` keeps its lake.
const devLake = "data/dev/lake"

// lakeFlags say which lake is meant, and how to show what it tells.
type lakeFlags struct {
	config, catalog, warehouse, database, namespace string
	asJSON                                          bool
}

func (o *lakeFlags) register(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.config, "config", "", "YAML file of a node's configuration, for its lake and namespace; TAXIMETER_* variables lie over it")
	f.StringVar(&o.catalog, "catalog", "", "sqlite:FILE, postgres://... or http(s)://...; without it, --config and TAXIMETER_LAKE_*: "+devLake)
	f.StringVar(&o.warehouse, "warehouse", "", "folder of the files")
	f.StringVar(&o.database, "database", "", "the catalog's namespace of the tables (default that of the configuration, taximeter)")
	f.StringVar(&o.namespace, "namespace", "", "taximeter namespace (default that of the configuration, taximeter)")
	f.BoolVar(&o.asJSON, "json", false, "print JSON")
}

func (o *lakeFlags) open(ctx context.Context) (*iceberg.Lake, error) {
	cfg, err := node.Load(o.config)
	if err != nil {
		return nil, usage(err)
	}
	l := cfg.Lake
	switch {
	case o.catalog != "":
		l.Catalog = o.catalog
	case !l.Enabled() && o.config == "":
		l.Catalog, l.Warehouse.Folder = "sqlite:"+devLake+"/catalog.db", devLake
	case !l.Enabled():
		return nil, usage(errors.New("this configuration has no lake; set lake.catalog, or give --catalog"))
	}
	if o.warehouse != "" {
		l.Warehouse = iceberg.Warehouse{Folder: o.warehouse}
	}
	if o.database != "" {
		l.Database = o.database
	}
	if o.namespace != "" {
		cfg.Namespace = o.namespace
	}
	return iceberg.Existing(ctx, l, checkpoint.Namespace(cfg.Namespace), slog.New(slog.DiscardHandler))
}

func newLakeStatus() *cobra.Command {
	var o lakeFlags
	c := &cobra.Command{
		Use:   "status",
		Short: "Show how far the lake is, and how much lies in it",
		Example: `  taximeter lake status
  taximeter lake status --config taximeter.yaml --json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			l, err := o.open(c.Context())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, l.Close()) }()
			st, err := l.Status(c.Context())
			if err != nil {
				return err
			}
			if o.asJSON {
				return printJSON(c, st)
			}
			table := ui.Table{Head: []string{"table", ">checkpoint", ">rows", ">files", ">bytes", ">deletes", ">snapshots", "committed"}}
			for _, t := range st.Tables {
				committed := "never"
				if t.Committed != schemas.NoTime {
					committed = ui.Instant(t.Committed)
				}
				table.Add(t.Table, ui.Count(t.Checkpoint), ui.Count(t.Rows), ui.Count(t.Files), ui.Count(t.Bytes), ui.Count(t.Deletes), ui.Count(t.Snapshots), committed)
			}
			table.Print(c.OutOrStdout(), "")
			fmt.Fprintf(c.OutOrStdout(), "complete up to checkpoint %s, %s restores followed, %s offsets missing\n", ui.Count(st.Checkpoint), ui.Count(st.Restores), ui.Count(st.Gaps))
			return nil
		},
	}
	o.register(c)
	return c
}

func newLakeMaintain() *cobra.Command {
	var o lakeFlags
	c := &cobra.Command{
		Use:   "maintain",
		Short: "Compact files, merge manifests, expire snapshots, remove orphaned files",
		Long: `Do one round of what is due, as the nodes do every few minutes: compact partitions of many
small files, merge deletes and manifests, expire snapshots beyond the history, and remove
files that nothing cites. It never races a node: a commit that is faster wins.`,
		Example: "  taximeter lake maintain --config taximeter.yaml",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			l, err := o.open(c.Context())
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, l.Close()) }()
			done, err := l.Maintain(c.Context())
			if o.asJSON {
				return errors.Join(err, printJSON(c, done))
			}
			table := ui.Table{Head: []string{"table", ">files", ">into", ">deletes", ">bytes", ">manifests", ">snapshots", ">orphans"}}
			for _, u := range done {
				table.Add(u.Table, ui.Count(u.FilesBefore), ui.Count(u.FilesAfter), ui.Count(u.Deletes), ui.Count(u.Bytes), ui.Count(u.Manifests), ui.Count(u.Snapshots), ui.Count(u.Orphans))
			}
			table.Print(c.OutOrStdout(), "")
			return err
		},
	}
	o.register(c)
	return c
}
