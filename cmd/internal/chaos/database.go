package chaos

import (
	"context"
	"errors"
	"fmt"

	"taximeter/internal/sqlserver"
)

// database is a real server for the analytical table, and the proxy between it and the nodes.
type database struct {
	server *sqlserver.Server
	relay  *relay
}

// newDatabase starts an empty one. Nodes reach it at an address of the machine's IP.
func newDatabase(ctx context.Context, kind sqlserver.Kind, ip string) (*database, error) {
	server, err := sqlserver.New(ctx, kind)
	if err != nil {
		return nil, err
	}
	d := &database{server: server}
	if err = server.Start(ctx); err == nil {
		d.relay, err = newRelay(ip, server.Address)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("database: %w", err), d.close())
	}
	return d, nil
}

// listenAt lets nodes reach it at another address of this machine.
func (d *database) listenAt(ip string) error {
	relay, err := newRelay(ip, d.server.Address)
	if err != nil {
		return err
	}
	err = d.relay.close()
	d.relay = relay
	return err
}

// url is where nodes find it.
func (d *database) url() string { return d.server.URL(d.relay.address) }

// direct is where the independent readers find it: they know PostgreSQL's protocol, and HTTP of
// ClickHouse.
func (d *database) direct() string {
	if d.server.Kind == sqlserver.ClickHouse {
		return "http://" + d.server.HTTP
	}
	return d.server.URL(d.server.Address)
}

func (d *database) close() error {
	if d == nil {
		return nil
	}
	var err error
	if d.relay != nil {
		err = d.relay.close()
	}
	return errors.Join(err, d.server.Close())
}
