//go:build integration

package analytics_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"net"
	"net/url"
	"sync"
	"testing"
)

// proxy passes connections on to a server until cut says to break one.
type proxy struct {
	net.Listener
	server string
	// cut is asked about each chunk. A cut loses the chunk and ends the connection on both sides.
	cut func(toServer bool, chunk []byte) bool
}

// through returns the URL by way of a proxy. cut is asked by one goroutine at a time.
func through(t *testing.T, rawURL string, cut func(toServer bool, chunk []byte) bool) string {
	t.Helper()
	u, err := url.Parse(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	p := &proxy{l, u.Host, func(toServer bool, chunk []byte) bool {
		mu.Lock()
		defer mu.Unlock()
		return cut(toServer, chunk)
	}}
	t.Cleanup(func() { _ = l.Close() })
	go p.accept()
	u.Host = l.Addr().String()
	return u.String()
}

func (p *proxy) accept() {
	for {
		client, err := p.Accept()
		if err != nil {
			return // closed
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		go p.pass(true, client, server)
		go p.pass(false, server, client)
	}
}

func (p *proxy) pass(toServer bool, from, to net.Conn) {
	defer func() { _ = errors.Join(from.Close(), to.Close()) }() // the connection is given up
	chunk := make([]byte, 64<<10)
	for {
		n, err := from.Read(chunk)
		if n > 0 {
			if p.cut(toServer, chunk[:n]) {
				return
			}
			if _, err := to.Write(chunk[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// testCut follows the chain while connections break where one of the marks is seen.
func testCut(t *testing.T, d database, toServer bool, marks ...string) {
	direct := d.fresh(t)
	whole := open(t, direct)
	r := rand.New(rand.NewPCG(2, 2))
	cuts := 0
	db := open(t, through(t, direct, func(to bool, chunk []byte) bool {
		for _, mark := range marks {
			if to == toServer && bytes.Contains(chunk, []byte(mark)) && r.IntN(2) == 0 {
				cuts++
				return true
			}
		}
		return false
	}))
	errs := 0
	if _, err := follow(t.Context(), db, 40, 2, passAll(&errs)); err != nil {
		t.Fatal(err)
	}
	if cuts < 5 || errs == 0 {
		t.Errorf("%d cuts led to %d errors: the fault was not met", cuts, errs)
	}
	t.Logf("%d cuts, %d errors", cuts, errs)
	wantChain(t, whole, 40)
}

// The wire shows statements and their answers as plain text.

func TestPostgresCommitIsLost(t *testing.T) { testCut(t, postgresServer(t), true, "commit\x00") }

func TestPostgresAnswerIsDroppedAfterTheCommit(t *testing.T) {
	testCut(t, postgresServer(t), false, "COMMIT\x00")
}

func TestPostgresBreaksOffAmidTheRows(t *testing.T) {
	testCut(t, postgresServer(t), true, "entrada_viagens")
}

func TestClickHouseDiesBetweenRowsAndProgress(t *testing.T) {
	testCut(t, clickhouseServer(t), true, "INSERT INTO progresso_passos")
}

func TestClickHouseBreaksOffAmidTheRows(t *testing.T) {
	testCut(t, clickhouseServer(t), true, "INSERT INTO viagens_versoes", "INSERT INTO janelas_versoes")
}

func TestClickHouseLosesAnswers(t *testing.T) {
	testCut(t, clickhouseServer(t), false, "janela_inicio", "atualizado_em")
}

// passAll lets a follower go on after any error, as a node does, and counts them.
func passAll(errs *int) func(error) bool {
	return func(err error) bool {
		*errs++
		return *errs < 10_000
	}
}
