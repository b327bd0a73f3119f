package samstack

import (
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"
)

// relay lets containers reach what listens on the loopback interface: it takes connections at the same port of the
// containers' own network, so that nothing has to listen to the whole world. No other machine is on that network, but a
// neighbour may reach this machine's address in it by a route through this machine; whoever comes from elsewhere is
// turned away.
type relay struct {
	listener net.Listener
	network  netip.Prefix
	target   string

	mu    sync.Mutex
	conns map[net.Conn]bool // nil when closed
}

// startRelay listens at the address of network, which is this machine's, for those who are in it.
func startRelay(network netip.Prefix, target string) (*relay, error) {
	_, port, err := net.SplitHostPort(target)
	if err != nil {
		return nil, fmt.Errorf("leading containers to %s: %w", target, err)
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(network.Addr().String(), port))
	if err != nil {
		return nil, fmt.Errorf("leading containers to %s: %w", target, err)
	}
	r := &relay{listener: listener, network: network, target: target, conns: map[net.Conn]bool{}}
	go r.accept()
	return r, nil
}

func (r *relay) accept() {
	for {
		from, err := r.listener.Accept()
		if err != nil {
			return
		}
		if !r.inNetwork(from) {
			_ = from.Close()
			continue
		}
		go r.connect(from)
	}
}

func (r *relay) inNetwork(from net.Conn) bool {
	address, err := netip.ParseAddrPort(from.RemoteAddr().String())
	return err == nil && r.network.Contains(address.Addr().Unmap())
}

func (r *relay) connect(from net.Conn) {
	defer from.Close()
	to, err := net.Dial("tcp", r.target)
	if err != nil {
		return // the caller sees a connection that ends, as from a program that is not there
	}
	defer to.Close()
	if !r.keep(from, to) {
		return
	}
	defer r.forget(from, to)
	done := make(chan struct{})
	go func() {
		pass(to, from)
		close(done)
	}()
	pass(from, to)
	<-done
}

// pass copies one direction and hands on its end.
func pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
}

func (r *relay) keep(conns ...net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conns == nil {
		return false
	}
	for _, conn := range conns {
		r.conns[conn] = true
	}
	return true
}

func (r *relay) forget(conns ...net.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, conn := range conns {
		delete(r.conns, conn)
	}
}

// close ends the relay with its connections.
func (r *relay) close() {
	_ = r.listener.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for conn := range r.conns {
		_ = conn.Close()
	}
	r.conns = nil
}
