package tcp

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"capgnn/cluster"
)

const keyBytes = 32

// paired is a data connection whose other side has proved that it belongs to this run.
type paired struct {
	rank      int
	conn, raw net.Conn
	err       error
}

// mesh makes the data connections of this rank: it dials all lower ranks, and waits for all higher ones.
func (g *Group) mesh(ctx context.Context, d *door, trust *tls.Config, key []byte) error {
	if g.o.Carry != nil {
		g.carried()
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, g.o.JoinTimeout)
	found := make(chan paired)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	deliver := func(p paired) {
		select {
		case found <- p:
		case <-ctx.Done():
			if p.raw != nil {
				p.raw.Close()
			}
		}
	}
	for r := range g.o.Rank {
		running.Go(func() { deliver(g.call(ctx, r, trust, key)) })
	}
	running.Go(func() { g.answer(ctx, d, key, deliver) })
	for missing := g.o.Ranks - 1; missing > 0; {
		select {
		case p := <-found:
			if p.err != nil {
				return p.err
			}
			if old := g.data[p.rank]; old != nil {
				old.shut(errors.New("it connected again")) // its side had given up the first connection
			} else {
				missing--
			}
			g.data[p.rank] = newLink(g.members[p.rank], p.conn, p.raw, &g.o)
			g.start(g.data[p.rank], g.onData)
		case <-ctx.Done():
			return fmt.Errorf("rank %d has no data connection with %s: a firewall may be between them", g.o.Rank, ranksText(g.unpaired()))
		}
	}
	return nil
}

// carried takes the streams that are there without a connection.
func (g *Group) carried() {
	for r, m := range g.members {
		if r != g.o.Rank {
			conn := g.o.Carry(r)
			g.data[r] = newLink(m, conn, conn, &g.o)
			g.start(g.data[r], g.onData)
		}
	}
}

func (g *Group) unpaired() []int {
	var out []int
	for r, l := range g.data {
		if l == nil && r != g.o.Rank {
			out = append(out, r)
		}
	}
	return out
}

// call dials a rank until it answers.
func (g *Group) call(ctx context.Context, rank int, trust *tls.Config, key []byte) paired {
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		hello := g.hello(cluster.Data)
		rand.Read(hello.Nonce[:])
		conn, raw, err := dial(ctx, g.members[rank].Addr, trust, hello, &g.o)
		if err == nil {
			stop := context.AfterFunc(ctx, func() { raw.Close() })
			if err = prove(conn, key, hello); err == nil && stop() {
				raw.SetDeadline(time.Time{})
				return paired{rank: rank, conn: conn, raw: raw}
			}
			raw.Close()
		}
		var stop fatal
		if errors.As(err, &stop) {
			return paired{err: fmt.Errorf("connect rank %d with rank %d: %w", g.o.Rank, rank, err)}
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return paired{err: fmt.Errorf("connect rank %d with rank %d at %s: %w: a firewall may be between them", g.o.Rank, rank, g.members[rank].Addr, err)}
		}
	}
}

// prove is the dialler's side of the proof: the listener answers the hello with a nonce and its proof, gets one, and says that it is content.
func prove(conn net.Conn, key []byte, hello cluster.Hello) error {
	var b [64]byte
	if _, err := io.ReadFull(conn, b[:]); err != nil {
		return err
	}
	nonce := [32]byte(b[:32])
	theirs := cluster.Proof(key, hello, nonce, false)
	if !hmac.Equal(theirs[:], b[32:]) {
		return errors.New("the other side does not belong to this run")
	}
	mine := cluster.Proof(key, hello, nonce, true)
	if _, err := conn.Write(mine[:]); err != nil {
		return err
	}
	_, err := io.ReadFull(conn, b[:1])
	return err
}

// verify is the listener's side.
func verify(e entrant, key []byte) error {
	var b [64]byte
	rand.Read(b[:32])
	nonce := [32]byte(b[:32])
	mine := cluster.Proof(key, e.hello, nonce, false)
	copy(b[32:], mine[:])
	if _, err := e.conn.Write(b[:]); err != nil {
		return err
	}
	var from io.Reader = e.conn
	if e.conn == e.raw {
		from = e.guard
	}
	if _, err := io.ReadFull(from, b[:32]); err != nil {
		return err
	}
	theirs := cluster.Proof(key, e.hello, nonce, true)
	if !hmac.Equal(theirs[:], b[:32]) {
		return errors.New("it does not belong to this run")
	}
	_, err := e.conn.Write([]byte{1})
	return err
}

// answer lets data connections of higher ranks in, each checked by a goroutine of its own, until ctx ends.
func (g *Group) answer(ctx context.Context, d *door, key []byte, deliver func(paired)) {
	var running sync.WaitGroup
	defer running.Wait()
	for {
		select {
		case e := <-d.entered:
			h := e.hello
			if h.Protocol != cluster.Protocol || h.Role != cluster.Data || h.Plain != g.o.Plain || h.Rank <= uint32(g.o.Rank) || h.Rank >= uint32(g.o.Ranks) {
				e.turnAway()
				continue
			}
			running.Go(func() { // ends within 5 s, or with the connection
				stop := context.AfterFunc(ctx, func() { e.raw.Close() })
				if err := verify(e, key); err != nil || !stop() {
					e.turnAway()
					return
				}
				e.welcome()
				deliver(paired{rank: int(h.Rank), conn: e.conn, raw: e.raw})
			})
		case <-ctx.Done():
			return
		}
	}
}
