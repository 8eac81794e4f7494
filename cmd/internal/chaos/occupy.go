package chaos

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"syscall"
)

// occupy keeps a TCP address of this machine from everybody until it is closed. Nobody listens
// there: connections are refused, as where no server runs.
func occupy(address string) (io.Closer, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, fmt.Errorf("occupy %s: %w", address, err)
	}
	syscall.CloseOnExec(fd)
	// Connections that ended there a moment ago are no hindrance.
	err = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	if err == nil {
		err = syscall.Bind(fd, &syscall.SockaddrInet4{Port: int(at.Port()), Addr: at.Addr().As4()})
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("occupy %s: %w", address, err), syscall.Close(fd))
	}
	return os.NewFile(uintptr(fd), address), nil
}
