package chaos

import (
	"context"
	"fmt"
	"net"
	"path/filepath"

	"github.com/twmb/franz-go/pkg/kfake"
)

// broker is a Kafka broker that tells its clients to come to an address that is not its own.
type broker interface {
	// start listens and gives the address; after stop it comes back with what it had.
	start(ctx context.Context, advertised string) (address string, err error)
	stop() error
}

// broker is the broker of a run.
func (o *Options) broker(dir string) broker {
	if o.Real != nil {
		return newKafka(o.Real.KafkaLibs, filepath.Join(dir, "kafka"))
	}
	return &fake{dir: filepath.Join(dir, "kafka")}
}

// fake is a broker in this process. There is one, so that what a fetch sees of several
// topics is one instant's.
type fake struct {
	dir     string
	port    int // of the first start
	cluster *kfake.Cluster
}

func (f *fake) start(_ context.Context, advertised string) (string, error) {
	var own net.Listener
	listen := func(network, address string) (net.Listener, error) {
		l, err := net.Listen(network, address)
		if err != nil {
			return nil, err
		}
		own = l
		return advertising{l, hostPort(advertised)}, nil
	}
	var err error
	f.cluster, err = kfake.NewCluster(kfake.NumBrokers(1), kfake.Ports(f.port), kfake.ClusterID("chaos"), kfake.DataDir(f.dir), kfake.ListenFn(listen))
	if err != nil {
		return "", fmt.Errorf("start broker: %w", err)
	}
	f.port = own.Addr().(*net.TCPAddr).Port
	return own.Addr().String(), nil
}

func (f *fake) stop() error {
	f.cluster.Close()
	return nil
}

// advertising is a listener that gives out another address than its own.
type advertising struct {
	net.Listener
	as net.Addr
}

func (a advertising) Addr() net.Addr { return a.as }

type hostPort string

func (hostPort) Network() string  { return "tcp" }
func (a hostPort) String() string { return string(a) }
