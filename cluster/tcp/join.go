package tcp

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"capgnn/cluster"
)

// Refused says why a run does not begin: one line, the same at all ranks that rank 0 could tell.
type Refused struct {
	Line string
	Lost bool // a rank was there and is gone: another start may help, and the ranks that are left have to change nothing
}

func (r *Refused) Error() string { return r.Line }

// Join waits for all ranks, lets rank 0 compare what they say of themselves, and connects every rank with every other. It ends with ctx.
// What is wrong with the members is a *Refused.
func Join(ctx context.Context, o Options) (*Group, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	g := newGroup(o)
	if o.Ranks > 1 {
		trust, err := trustOf(o.Secret)
		if err != nil {
			return nil, err
		}
		if o.Rank == 0 {
			err = g.host(ctx, trust)
		} else {
			err = g.attend(ctx, trust)
		}
		if err != nil {
			g.end(err)
			g.running.Wait()
			return nil, err
		}
	} else {
		g.members[0] = Member{Host: o.Host, Facts: o.Facts}
	}
	close(g.begun)
	for _, l := range g.data {
		if l != nil && l.isDead() {
			g.linkFault(l, errors.New("the connection broke while ranks joined"))
		}
	}
	g.running.Go(g.preside) // ends with the group; Close waits for it
	return g, nil
}

// invitation is what rank 0 tells the members.
type invitation struct {
	Members []Member `json:"members"`
	Key     []byte   `json:"key"` // of this run, for the proofs of data connections
}

// hello is that of this rank.
func (g *Group) hello(role cluster.Role) cluster.Hello {
	return cluster.Hello{Protocol: cluster.Protocol, Role: role, Plain: g.o.Plain, Carried: g.o.Carry != nil, Rank: uint32(g.o.Rank), Ranks: uint32(g.o.Ranks)}
}

// attend joins as another rank than 0. A connection that breaks before rank 0 has answered is tried again until the join timeout.
func (g *Group) attend(ctx context.Context, trust *tls.Config) error {
	deadline, cancel := context.WithTimeout(ctx, g.o.JoinTimeout)
	defer cancel()
	end, _ := deadline.Deadline() // a dial ends then, before deadline.Err says so
	ticker := time.NewTicker(g.o.every)
	defer ticker.Stop()
	var last error
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		conn, raw, err := dial(deadline, g.o.Master, trust, g.hello(cluster.Control), &g.o)
		if err == nil {
			if err = g.visit(ctx, conn, raw, trust); err == nil {
				return nil
			}
		}
		var stop fatal
		if errors.As(err, &stop) {
			return fmt.Errorf("join rank 0: %w", stop.error)
		}
		if last == nil || time.Now().Before(end) { // what ended by the deadline says less than what was before
			last = err
		}
		select {
		case <-ticker.C:
			g.o.OnWait(fmt.Sprintf("rank %d waits for rank 0 at %s: %s", g.o.Rank, g.o.Master, line(hindrance(last), 200)))
		default:
		}
		select {
		case <-time.After(wait):
		case <-deadline.Done():
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return &Refused{Line: fmt.Sprintf("rank %d did not reach rank 0 at %s within %v: %s", g.o.Rank, g.o.Master, g.o.JoinTimeout, line(hindrance(last), 200))}
		}
	}
}

// errHungUp is a connection that rank 0 closed without a word.
var errHungUp = errors.New("the connection was closed")

// hindrance says in words why rank 0 was not reached.
func hindrance(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nobody listens there: is rank 0 running, and do all ranks have its --ranks master=?"
	case errors.Is(err, errHungUp) || isClosed(err):
		return "rank 0 closed the connection: do all ranks have the same secret and --transport?"
	}
	return err.Error()
}

// visit is one connection to rank 0, from Join to Start. An error that is not fatal says that another try may help.
func (g *Group) visit(ctx context.Context, conn, raw net.Conn, trust *tls.Config) error {
	raw.SetDeadline(time.Time{})
	local, remote := raw.LocalAddr().(*net.TCPAddr), raw.RemoteAddr().(*net.TCPAddr)
	at := net.TCPAddr{IP: local.IP, Zone: local.Zone, Port: g.o.DataPort}
	d, err := newDoor(ctx, at.String(), trust, &g.o)
	if err != nil {
		raw.Close()
		return fatal{fmt.Errorf("listen for data of other ranks: %w", err)}
	}
	defer d.close()
	me := Member{Rank: g.o.Rank, Host: g.o.Host, Addr: d.listener.Addr().String(), Facts: g.o.Facts}
	text, err := json.Marshal(me)
	if err != nil {
		raw.Close()
		return fatal{err}
	}
	l := newLink(Member{Rank: 0}, conn, raw, &g.o)
	g.control = []*link{l}
	g.start(l, g.onControl)
	l.push(frame{head: cluster.Header{Kind: cluster.Join}, body: text})
	// Rank 0 answers when all have come, or at its own join timeout, which may have begun later.
	answer, cancel := context.WithTimeout(ctx, g.o.JoinTimeout+g.o.linger)
	defer cancel()
	text, err = g.next(answer, l, cluster.Welcome)
	if err != nil {
		if answer.Err() != nil && ctx.Err() == nil {
			err = errors.New("what listens there does not answer")
		}
		l.shut(err)
		return err
	}
	if err := g.meet(ctx, l, d, trust, text, remote); err != nil {
		// Others count on this rank by now: there is no second try.
		l.shut(err)
		var stop fatal
		if !errors.As(err, &stop) {
			err = fatal{&Refused{Line: "rank 0 was lost while ranks joined: " + line(cause(err, g.o.PeerTimeout), 200), Lost: true}}
		}
		return err
	}
	return nil
}

// meet reads the invitation, makes the data connections, and waits until all ranks have theirs.
func (g *Group) meet(ctx context.Context, l *link, d *door, trust *tls.Config, text []byte, root *net.TCPAddr) error {
	var in invitation
	if err := decode(text, &in); err != nil || len(in.Members) != g.o.Ranks || len(in.Key) != keyBytes {
		return fatal{errors.New("rank 0 sent a list of members that cannot be read")}
	}
	copy(g.members, in.Members)
	for r := range g.members {
		g.members[r].Rank = r
	}
	g.members[0].Addr = root.String()
	l.peer = g.members[0]
	meeting, cancel := context.WithCancel(ctx)
	defer cancel()
	met := make(chan error, 1)
	go func() { met <- g.mesh(meeting, d, trust, in.Key) }() // ends with meeting; waited for below
	stopped, late := ctx.Done(), (<-chan time.Time)(nil)
	for ready := false; ; {
		select {
		case err := <-met:
			if err != nil {
				return fatal{err}
			}
			ready = true
			l.pushKind(cluster.Ready, 0, 0)
		case e := <-g.events:
			if e.link != l {
				continue // a data connection: rank 0 names who was lost
			}
			if e.kind == cluster.Start && ready {
				return nil
			}
			cancel()
			if !ready {
				<-met
			}
			return refusal(e)
		case <-stopped:
			if !ready {
				<-met
				return fatal{ctx.Err()}
			}
			// Others may count this rank as joined by now: it stays to hear so, and to be able to say that it was stopped.
			stopped, late = nil, time.After(verdictTime)
		case <-late:
			return fatal{ctx.Err()}
		}
	}
}

// next waits for a frame of this kind from rank 0.
func (g *Group) next(ctx context.Context, l *link, kind cluster.Kind) ([]byte, error) {
	for {
		select {
		case e := <-g.events:
			if e.link != l {
				continue
			}
			if e.kind == kind {
				return e.text, nil
			}
			return nil, refusal(e)
		case <-ctx.Done():
			return nil, fatal{ctx.Err()}
		}
	}
}

// refusal is what an event says that was not the awaited one.
func refusal(e event) error {
	switch {
	case e.kind == cluster.Refuse:
		return fatal{&Refused{Line: line(string(e.text), cluster.MaxText), Lost: e.lost}}
	case e.err != nil && isClosed(e.err):
		return errHungUp
	case e.err != nil:
		return e.err
	}
	return fatal{errors.New("rank 0 sent a frame that was not due")}
}

// ranksText names ranks, as in "rank 1" and "ranks 1, 2 and 5".
func ranksText(ranks []int) string {
	words := make([]string, len(ranks))
	for i, r := range ranks {
		words[i] = fmt.Sprint(r)
	}
	if len(words) < 2 {
		return "rank " + strings.Join(words, "")
	}
	return "ranks " + strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
