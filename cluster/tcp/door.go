package tcp

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"capgnn/cluster"
)

// door is the one port at which a rank listens while ranks join. Who comes in has shown the secret, if there is one, and a hello. It closes
// when the rank has all its connections.
type door struct {
	listener *net.TCPListener
	trust    *tls.Config // nil = no secret
	o        *Options
	entered  chan entrant
	slots    chan struct{} // of connections that have not shown who they are
	open     context.Context
	quit     context.CancelFunc // ends open
	running  sync.WaitGroup

	mu      sync.Mutex
	refused string // the last connection that did not come in, and why
}

// entrant is a connection that came in. Its deadline of 5 s still runs, and its slot is still taken.
type entrant struct {
	conn  net.Conn // TLS or raw
	raw   net.Conn
	guard *limited
	hello cluster.Hello
	leave func() // frees the slot; once
}

// welcome lifts the limits on connections that have not authenticated.
func (e entrant) welcome() {
	e.guard.lifted.Store(true)
	e.raw.SetDeadline(time.Time{})
	e.leave()
}

func (e entrant) turnAway() {
	e.raw.Close()
	e.leave()
}

func newDoor(ctx context.Context, addr string, trust *tls.Config, o *Options) (*door, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	if trust == nil && !isLocal(l.Addr()) {
		l.Close()
		return nil, errNoSecret(addr)
	}
	d := &door{
		listener: l.(*net.TCPListener), trust: trust, o: o,
		entered: make(chan entrant), slots: make(chan struct{}, strangers),
	}
	d.open, d.quit = context.WithCancel(context.Background())
	d.running.Go(d.serve) // ends with close, which waits for it and for those who are in the door
	return d, nil
}

// serve accepts connections, one goroutine each. While 64 of them have not authenticated it closes further ones;
// ranks try again.
func (d *door) serve() {
	for {
		c, err := d.listener.AcceptTCP()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // out of descriptors, or the other side has gone
			select {
			case <-time.After(50 * time.Millisecond):
				continue
			case <-d.open.Done():
				return
			}
		}
		select {
		case d.slots <- struct{}{}:
			d.running.Go(func() { d.admit(c) })
		default:
			c.Close()
		}
	}
}

func (d *door) admit(c *net.TCPConn) {
	var once sync.Once
	leave := func() { once.Do(func() { <-d.slots }) }
	c.SetDeadline(time.Now().Add(strangerTime))
	stop := context.AfterFunc(d.open, func() { c.Close() }) // a door that closes waits for nobody
	e, err := d.greet(c)
	if !stop() && err == nil {
		err = net.ErrClosed
	}
	if err != nil {
		d.mu.Lock()
		d.refused = fmt.Sprintf("%v: %s", c.RemoteAddr(), line(turnedAway(err).Error(), 200))
		d.mu.Unlock()
		c.Close()
		leave()
		return
	}
	e.leave = leave
	select {
	case d.entered <- e:
	case <-d.open.Done():
		e.turnAway()
	}
}

// turnedAway says why a connection did not come in. A rank that finds another secret here says so by an alert of TLS.
func turnedAway(err error) error {
	if alert := (*net.OpError)(nil); errors.As(err, &alert) && alert.Op == "remote error" && strings.Contains(err.Error(), "bad certificate") {
		return errors.New("it has another secret")
	}
	return err
}

// greet reads a hello, behind a TLS handshake where there is a secret. The first byte tells: a TLS record of a handshake begins with 22,
// a hello with c. With a secret only data connections of plain mode come without TLS.
func (d *door) greet(c *net.TCPConn) (entrant, error) {
	setUserTimeout(c, d.o.PeerTimeout)
	raw := d.o.wrap(c)
	var first [1]byte
	if _, err := io.ReadFull(raw, first[:]); err != nil {
		return entrant{}, err
	}
	guard := &limited{Conn: raw, first: first[:], left: strangerBytes}
	e := entrant{conn: raw, raw: raw, guard: guard}
	var from io.Reader = guard
	if d.trust != nil && first[0] != 'c' {
		e.conn = tls.Server(guard, d.trust)
		from = e.conn
	}
	var b [cluster.HelloBytes]byte
	if _, err := io.ReadFull(from, b[:]); err != nil {
		return entrant{}, err
	}
	var err error
	if e.hello, err = cluster.ParseHello(&b); err != nil {
		return entrant{}, err
	}
	if d.trust != nil && e.conn == raw && (!d.o.Plain || e.hello.Role != cluster.Data) {
		return entrant{}, errors.New("it connected without TLS: give all ranks the same secret and the same transport")
	}
	return e, nil
}

// lastRefused names the last connection that did not come in.
func (d *door) lastRefused() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.refused
}

func (d *door) close() {
	d.quit()
	d.listener.Close()
	d.running.Wait()
}

// dial connects to another rank and sends a hello. A data connection in plain mode has no TLS.
func dial(ctx context.Context, addr string, trust *tls.Config, hello cluster.Hello, o *Options) (conn, raw net.Conn, err error) {
	ctx, cancel := context.WithTimeout(ctx, strangerTime)
	defer cancel()
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, nil, err
	}
	if trust == nil && !isLocal(c.RemoteAddr()) {
		c.Close()
		return nil, nil, fatal{errNoSecret(addr)}
	}
	setUserTimeout(c.(*net.TCPConn), o.PeerTimeout)
	raw = o.wrap(c.(*net.TCPConn))
	conn = raw
	raw.SetDeadline(time.Now().Add(strangerTime))
	if trust != nil && (hello.Role == cluster.Control || !o.Plain) {
		t := tls.Client(raw, trust)
		if err := t.HandshakeContext(ctx); err != nil {
			raw.Close()
			if errors.Is(err, errSecret) {
				err = fatal{fmt.Errorf("%s: %w", addr, errSecret)}
			}
			return nil, nil, err
		}
		conn = t
	}
	var b [cluster.HelloBytes]byte
	hello.Put(&b)
	if _, err := conn.Write(b[:]); err != nil {
		raw.Close()
		return nil, nil, err
	}
	return conn, raw, nil
}

// fatal is an error that does not go away by dialling again.
type fatal struct{ error }

func (f fatal) Unwrap() error { return f.error }
