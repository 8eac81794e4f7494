package kafkaout

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"taximeter/schemas"
)

// prepared are clients that know their coordinator and are connected with it, and have taken nothing yet.
// With TLS and a login, a partition that is handed over would stand still for that.
type prepared struct {
	mu      sync.Mutex // guards all below
	clients map[string]readied
}

type readied struct {
	client *kgo.Client
	asked  time.Time
}

const (
	// preparedFor is how long a client is kept that nobody takes.
	preparedFor = time.Minute
	// preparePatience bounds preparing one: what is not ready is made when it is needed.
	preparePatience = 2 * time.Second
)

// PrepareAlerts connects for the alerts of a partition that is about to be handed over to this node. It takes nothing
// from whoever has it: only OpenAlerts does. The client library ends connections that lie idle for 20 s, unless this is
// called again; a minute after its last call a client is let go.
func (k *Kafka) PrepareAlerts(ctx context.Context, p schemas.Partition) error {
	id := k.alertsID(p)
	client := k.prepared.take(id)
	if client == nil {
		var err error
		if client, err = k.o.sender(id, k.o.AlertTimeout); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, preparePatience)
	defer cancel()
	// A question that only the coordinator answers; the answer does not matter.
	request := kmsg.NewPtrDescribeTransactionsRequest()
	request.TransactionalIDs = []string{id}
	if _, err := request.RequestWith(ctx, client); err != nil {
		client.Close()
		return fmt.Errorf("prepare %s: %w", id, err)
	}
	k.prepared.put(id, client)
	return nil
}

// take gives the client of a transactional id to whoever closes it or puts it back; nil = there is none.
func (p *prepared) take(id string) *kgo.Client {
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.clients[id]
	delete(p.clients, id)
	return r.client
}

func (p *prepared) put(id string, client *kgo.Client) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if other, known := p.clients[id]; known {
		other.client.Close()
	}
	if p.clients == nil {
		p.clients = make(map[string]readied)
	}
	p.clients[id] = readied{client, time.Now()}
	time.AfterFunc(preparedFor, func() { p.letGo(time.Now().Add(-preparedFor)) })
}

// letGo closes those that were not asked for since.
func (p *prepared) letGo(since time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for id, r := range p.clients {
		if !r.asked.After(since) {
			r.client.Close()
			delete(p.clients, id)
		}
	}
}
