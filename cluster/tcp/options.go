package tcp

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"capgnn/cluster"
)

// Options say who this rank is, where rank 0 is, and who is trusted.
type Options struct {
	Rank, Ranks int    // this rank, of how many
	Master      string // host:port of rank 0, the same at all ranks
	// Secret is what all ranks know and nobody else does, at least 32 bytes. Without one every address has to be loopback, where any user of
	// the machine may join.
	Secret []byte
	// Plain sends rows without encryption, with a checksum, after a handshake that proves membership. Everything else stays TLS.
	Plain       bool
	Carry       func(rank int) net.Conn      // the stream with another rank on which rows travel, with a checksum, in place of a connection: MPI; nil = a connection
	Host        string                       // how messages call this machine; "" = its own name
	DataPort    int                          // the port at which ranks other than 0 listen for data; 0 = any
	JoinTimeout time.Duration                // how long to wait for all ranks; 0 = 5 min
	PeerTimeout time.Duration                // a rank that gives no sign for so long is lost; 0 = 60 s
	Facts       json.RawMessage              // what this rank says of itself; nil = null
	Compare     func(members []Member) error // at rank 0: whether these may train together; nil = they may
	OnWait      func(text string)            // every few seconds while ranks are missing; nil = nobody listens
	Waits       func() string                // what this rank waits for now, "" = nothing, for the line that names a loss; nil = nothing

	linger time.Duration               // how long rank 0 stays to refuse ranks that come late; 0 = 5 s
	every  time.Duration               // between calls of OnWait; 0 = 5 s
	wrap   func(*net.TCPConn) net.Conn // tests put faults between a rank and its connections; nil = none
}

// Member is a rank as the others know it.
type Member struct {
	Rank  int             `json:"rank"`
	Host  string          `json:"host"`
	Addr  string          `json:"addr"` // where it listens for data connections
	Facts json.RawMessage `json:"facts,omitempty"`
}

// name is how messages call a rank.
func (m Member) name() string {
	if m.Host == "" {
		return fmt.Sprintf("rank %d", m.Rank)
	}
	return fmt.Sprintf("rank %d (host %s)", m.Rank, line(m.Host, 64))
}

func (o Options) complete() (Options, error) {
	var errs []error
	if o.Ranks < 1 || o.Rank < 0 || o.Rank >= o.Ranks {
		errs = append(errs, fmt.Errorf("rank %d of %d ranks: ranks are numbered from 0", o.Rank, o.Ranks))
	}
	if _, _, err := net.SplitHostPort(o.Master); err != nil && o.Ranks > 1 {
		errs = append(errs, fmt.Errorf("address %q of rank 0: want host:port", o.Master))
	}
	if o.Secret != nil && len(o.Secret) < cluster.MinSecret {
		errs = append(errs, fmt.Errorf("the secret has %d bytes: at least %d are wanted", len(o.Secret), cluster.MinSecret))
	}
	if o.DataPort < 0 || o.DataPort > 65535 {
		errs = append(errs, fmt.Errorf("port %d for data: want 0 to 65535", o.DataPort))
	}
	if o.Facts == nil {
		o.Facts = json.RawMessage("null")
	}
	if len(o.Facts) > cluster.MaxJSON/2 || !json.Valid(o.Facts) {
		errs = append(errs, fmt.Errorf("the facts of rank %d are %d bytes: want JSON of at most %d", o.Rank, len(o.Facts), cluster.MaxJSON/2))
	}
	if o.Host == "" {
		o.Host, _ = os.Hostname()
	}
	if o.OnWait == nil {
		o.OnWait = func(string) {}
	}
	if o.Waits == nil {
		o.Waits = func() string { return "" }
	}
	if o.wrap == nil {
		o.wrap = func(c *net.TCPConn) net.Conn { return c }
	}
	o.JoinTimeout = cmp.Or(o.JoinTimeout, 5*time.Minute)
	o.PeerTimeout = cmp.Or(o.PeerTimeout, time.Minute)
	o.linger = cmp.Or(o.linger, 5*time.Second)
	o.every = cmp.Or(o.every, 5*time.Second)
	return o, errors.Join(errs...)
}

// beat is the time between signs of life: several within PeerTimeout.
func (o *Options) beat() time.Duration { return min(time.Second, o.PeerTimeout/4) }
