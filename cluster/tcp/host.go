package tcp

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"syscall"
	"time"

	"capgnn/cluster"
)

// errStopped is why there is no run where rank 0 was interrupted.
var errStopped = &Refused{Line: "rank 0 was stopped while ranks joined", Lost: true}

// reception is rank 0 while ranks join.
type reception struct {
	g       *Group
	door    *door
	guests  map[*link]func() // connections that have said hello and not yet who they are, and what frees their slot
	refused map[int]bool     // ranks that have been told that there will be no run
	ranks   int              // as many as any rank believes there are
}

// host joins as rank 0: it waits for all others, compares what they say, invites them, and waits until all are connected.
func (g *Group) host(ctx context.Context, trust *tls.Config) error {
	addr, err := listenAddr(ctx, g.o.Master, trust != nil)
	if err != nil {
		return err
	}
	d, err := newDoor(ctx, addr, trust, &g.o)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf("listen for ranks: %w: another program, or another rank 0, listens there: end it, or choose another port: "+
				"with `capgnn launch --port PORT`, or without launch for all ranks with --ranks master=HOST:PORT", err)
		}
		return fmt.Errorf("listen for ranks: %w", err)
	}
	defer d.close()
	g.control = make([]*link, g.o.Ranks)
	g.members[0] = Member{Host: g.o.Host, Addr: g.o.Master, Facts: g.o.Facts}
	r := &reception{g: g, door: d, guests: map[*link]func(){}, refused: map[int]bool{}, ranks: g.o.Ranks}
	defer r.dismiss()
	err = r.gather(ctx)
	if err == nil && g.o.Compare != nil {
		err = g.o.Compare(slices.Clone(g.members))
	}
	if err == nil {
		err = r.invite(ctx, trust)
	}
	if err == nil {
		return nil
	}
	no := &Refused{Line: line(err.Error(), 4<<10)}
	if why := (*Refused)(nil); errors.As(err, &why) {
		no.Lost = why.Lost
	}
	r.refuse(ctx, no)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return no
}

// listenAddr is where rank 0 listens. An address is taken as it is, a name as narrow; without a secret it is its loopback address, if it
// has one.
func listenAddr(ctx context.Context, master string, secret bool) (string, error) {
	host, port, err := net.SplitHostPort(master)
	if err != nil {
		return "", err
	}
	if ip := net.ParseIP(host); ip != nil || host == "" || host == "localhost" {
		return master, nil
	}
	ips, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if secret {
		mine, _ := net.InterfaceAddrs() // what is not known is none
		return net.JoinHostPort(narrow(ips, mine), port), nil
	}
	if err != nil {
		return "", fmt.Errorf("find the address of rank 0: %w", err)
	}
	for _, ip := range ips {
		if ip.IP.IsLoopback() {
			return net.JoinHostPort(ip.String(), port), nil
		}
	}
	return "", errNoSecret(master)
}

// narrow returns the address of a name, if it has one of this machine that others reach. "", for all addresses, if it has none, since a
// machine may know its own name as a loopback address (Debian: 127.0.1.1) or as that of a gate before it; and if it has several, of which
// others may reach one.
func narrow(name []net.IPAddr, mine []net.Addr) (found string) {
	for _, ip := range name {
		if ip.IP.IsLoopback() || !slices.ContainsFunc(mine, func(a net.Addr) bool { n, ok := a.(*net.IPNet); return ok && n.IP.Equal(ip.IP) }) {
			continue
		}
		if found != "" && found != ip.String() {
			return ""
		}
		found = ip.String()
	}
	return found
}

// missing are the ranks that have not joined.
func (r *reception) missing() []int {
	var out []int
	for i, l := range r.g.control {
		if i > 0 && l == nil {
			out = append(out, i)
		}
	}
	return out
}

// gather waits until all ranks have joined. An error is for all.
func (r *reception) gather(ctx context.Context) error {
	g := r.g
	timeout := time.After(g.o.JoinTimeout)
	ticker := time.NewTicker(g.o.every)
	defer ticker.Stop()
	for missing := r.missing(); len(missing) > 0; missing = r.missing() {
		select {
		case e := <-r.door.entered:
			if err := r.admit(e); err != nil {
				return err
			}
		case e := <-g.events:
			if err := r.handle(e); err != nil {
				return err
			}
		case <-ticker.C:
			g.o.OnWait(r.waiting(missing))
		case <-timeout:
			it := "it"
			if len(missing) > 1 {
				it = "them"
			}
			return fmt.Errorf("%s of %d did not join at %s within %v: start %s, or raise --transport join-timeout%s", ranksText(missing), g.o.Ranks, g.o.Master, g.o.JoinTimeout, it, r.hint())
		case <-ctx.Done():
			return errStopped
		}
	}
	return nil
}

func (r *reception) waiting(missing []int) string {
	return fmt.Sprintf("rank 0 waits at %s for %s of %d%s", r.g.o.Master, ranksText(missing), r.g.o.Ranks, r.hint())
}

// hint names the last connection that was turned away, which may be a rank with another secret.
func (r *reception) hint() string {
	if s := r.door.lastRefused(); s != "" {
		return " (turned away: " + s + ")"
	}
	return ""
}

// admit checks a hello. An error is for all: a rank that does not fit this run.
func (r *reception) admit(e entrant) error {
	g, h, from := r.g, e.hello, e.raw.RemoteAddr()
	if h.Protocol == cluster.Protocol && h.Role != cluster.Control {
		e.turnAway() // of a run before this one
		return nil
	}
	var err error
	switch {
	case h.Protocol != cluster.Protocol:
		err = fmt.Errorf("a rank at %v speaks protocol %d, rank 0 speaks %d: use one version of the program", from, h.Protocol, cluster.Protocol)
	case h.Ranks != uint32(g.o.Ranks):
		r.ranks = max(r.ranks, int(min(h.Ranks, 1<<20)))
		err = fmt.Errorf("rank %d at %v was started as one of %d ranks, rank 0 as one of %d", h.Rank, from, h.Ranks, g.o.Ranks)
	case h.Rank == 0 || h.Rank >= h.Ranks:
		err = fmt.Errorf("a rank at %v calls itself rank %d of %d, beside rank 0 at %s", from, h.Rank, h.Ranks, g.o.Master)
	case h.Plain != g.o.Plain || h.Carried != (g.o.Carry != nil):
		err = fmt.Errorf("--transport of rank %d at %v is %s, of rank 0 it is %s: start all ranks with the same options", h.Rank, from,
			transport(h.Plain, h.Carried), transport(g.o.Plain, g.o.Carry != nil))
	}
	e.guard.lifted.Store(true)
	e.raw.SetDeadline(time.Time{})
	l := newLink(Member{Rank: int(h.Rank)}, e.conn, e.raw, &g.o)
	r.guests[l] = e.leave
	g.start(l, g.onControl)
	return err
}

// transport is the value of --transport.
func transport(plain, carried bool) string {
	switch {
	case carried:
		return "mpi"
	case plain:
		return "tcp-plain"
	}
	return "tcp"
}

// handle takes what a control connection brought. An error is for all.
func (r *reception) handle(e event) error {
	g, n := r.g, e.link.peer.Rank
	leave, guest := r.guests[e.link]
	switch {
	case e.kind == cluster.Join && guest:
		leave()
		delete(r.guests, e.link)
		return r.join(e.link, e.text)
	case e.err != nil && guest:
		leave()
		delete(r.guests, e.link)
		e.link.shut(e.err)
	case e.err != nil && n < len(g.control) && g.control[n] == e.link:
		g.control[n] = nil // it may come again
		e.link.shut(e.err)
	default:
		e.link.shut(errors.New("it sent a frame that was not due"))
	}
	return nil
}

// join takes what a rank says of itself.
func (r *reception) join(l *link, text []byte) error {
	g, n := r.g, l.peer.Rank
	var m Member
	if err := decode(text, &m); err != nil {
		l.shut(err)
		return nil
	}
	m.Rank = n
	r.guests[l] = func() {} // until it has its place it is told of a refusal as a guest
	if there := g.control[n]; there != nil {
		return fmt.Errorf("two processes call themselves rank %d: one on host %s, one on host %s", n, line(g.members[n].Host, 64), line(m.Host, 64))
	}
	host, _, err := net.SplitHostPort(m.Addr)
	seen := l.raw.RemoteAddr().(*net.TCPAddr)
	if ip := net.ParseIP(dropZone(host)); err != nil || ip == nil || !ip.Equal(seen.IP) {
		return fmt.Errorf("%s listens at %s and came from %v: address translation between ranks does not work", m.name(), line(m.Addr, 64), seen.IP)
	}
	delete(r.guests, l)
	l.peer = m
	g.members[n], g.control[n] = m, l
	return nil
}

// dropZone removes the zone of a link-local address, which only its own machine knows.
func dropZone(host string) string {
	for i := range host {
		if host[i] == '%' {
			return host[:i]
		}
	}
	return host
}

// invite tells all who the members are, and waits until each has its data connections.
func (r *reception) invite(ctx context.Context, trust *tls.Config) error {
	g := r.g
	in := invitation{Members: make([]Member, g.o.Ranks), Key: make([]byte, keyBytes)}
	rand.Read(in.Key)
	for i, m := range g.members {
		in.Members[i] = Member{Rank: i, Host: m.Host, Addr: m.Addr}
	}
	text, err := json.Marshal(in)
	if err != nil {
		return err
	}
	for _, l := range g.control[1:] {
		l.push(frame{head: cluster.Header{Kind: cluster.Welcome}, body: text})
	}
	meeting, cancel := context.WithCancel(ctx)
	met := make(chan error, 1)
	go func() { met <- g.mesh(meeting, r.door, trust, in.Key) }() // ends with meeting; waited for below
	meshed := false
	defer func() {
		cancel()
		if !meshed {
			<-met
		}
	}()
	ready := map[*link]bool{}
	for !meshed || len(ready) < g.o.Ranks-1 {
		select {
		case err := <-met:
			if meshed = true; err != nil {
				return err
			}
		case e := <-g.events:
			n := e.link.peer.Rank
			switch {
			case g.control[n] == e.link && e.kind == cluster.Ready:
				ready[e.link] = true
			case g.control[n] != e.link: // a data connection, or a second process of a number
				if err := r.handle(e); err != nil {
					return err
				}
			default:
				e.link.shut(errClosed)
				g.control[n], r.refused[n] = nil, true // nobody has to tell it
				if e.err == nil {
					e.err = errors.New("it sent a frame that was not due")
				}
				return &Refused{Line: fmt.Sprintf("%s was lost while ranks joined: %s", g.members[n].name(), cause(e.err, g.o.PeerTimeout)), Lost: true}
			}
		case <-ctx.Done():
			return errStopped
		}
	}
	g.joined.Store(true)
	for _, l := range g.control[1:] {
		l.pushKind(cluster.Start, 0, 0)
	}
	return nil
}

// refuse tells all ranks, also those that are still to come, that there will be no run.
func (r *reception) refuse(ctx context.Context, no *Refused) {
	g := r.g
	refusal := frame{head: cluster.Header{Kind: cluster.Refuse}, body: []byte(no.Line)}
	if no.Lost {
		refusal.head.Area = 1
	}
	waiting := map[*link]bool{}
	tell := func(l *link) {
		l.push(refusal)
		waiting[l] = true
		if n := l.peer.Rank; n > 0 && n < r.ranks {
			r.refused[n] = true
		}
	}
	for _, l := range g.control[1:] {
		if l != nil {
			tell(l)
		}
	}
	for l := range r.guests {
		tell(l)
	}
	timer := time.After(g.o.linger)
	for len(waiting) > 0 || len(r.refused) < r.ranks-1 {
		select {
		case e := <-r.door.entered:
			if e.hello.Protocol == cluster.Protocol && e.hello.Role != cluster.Control {
				e.turnAway()
				continue
			}
			_ = r.admit(e) // why it does not fit matters no more
			for l := range r.guests {
				if !waiting[l] {
					tell(l)
				}
			}
		case e := <-g.events:
			if e.err != nil {
				if leave := r.guests[e.link]; leave != nil {
					leave()
				}
				delete(r.guests, e.link)
				delete(waiting, e.link)
				e.link.shut(e.err)
			}
		case <-timer:
			return
		case <-ctx.Done():
			timer = time.After(farewell)
			ctx = context.Background()
		}
	}
}

// dismiss shuts the connections that no table holds.
func (r *reception) dismiss() {
	for l, leave := range r.guests {
		leave()
		l.shut(errClosed)
	}
}
