package dev

import (
	"errors"
	"fmt"
	"net"
	"syscall"
)

type port struct {
	flag string
	port int
}

func (o *Options) ports() []port {
	return []port{{"--kafka-port", o.KafkaPort}, {"--registry-port", o.RegistryPort}, {"--admin-port", o.AdminPort}}
}

// portTaken adds the flag that mends it to the error of a port that another program has.
func (o *Options) portTaken(err error) error {
	if !errors.Is(err, syscall.EADDRINUSE) {
		return err
	}
	refused, ok := errors.AsType[*net.OpError](err)
	if !ok {
		return err
	}
	at, ok := refused.Addr.(*net.TCPAddr)
	for _, p := range o.ports() {
		if ok && p.port == at.Port {
			return fmt.Errorf("%w (%s 0 takes any free one)", err, p.flag)
		}
	}
	return err
}
