package ranks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"capgnn/cluster"
	"capgnn/cluster/tcp"
	"capgnn/cmd/capgnn/internal/term"
)

// Members are the ranks of a run, as one of them sees them: what package pipeline asks of others (pipeline.Ranks), and agreement about
// every step before and behind the epochs. All ranks call its methods in the same order. A nil *Members is one process
// alone, which agrees with itself.
type Members struct {
	*tcp.Group
	facts        cluster.Facts
	waits        *atomic.Pointer[func() string]
	hosts        []string      // what tells machines apart, by rank
	local, here  int           // this rank among those of this machine, of how many
	rowTransport rowTransport  // what carries rows, nil: connections
	patience     time.Duration // how long it may take to end
}

// Messages of a run beside those of package pipeline.
const (
	tagOutcome uint32 = 1<<16 + iota
	tagAll
	tagFirst
	tagFacts
)

// Join waits for all other ranks, and returns when they agree in what f says: f.Options, and f.Instructions of this machine. The rest is
// filled in. While ranks are missing a note says which. Close is to be called in the end.
func Join(ctx context.Context, k *term.Console, s Settings, f cluster.Facts) (*Members, error) {
	f.Protocol, f.Ranks, f.Rank, f.Host = cluster.Protocol, s.Ranks, s.Rank, thisHost()
	f.Devices = 1 // which ones a rank has is settled when all are there
	if f.Version == "" {
		f.Version = term.ReadBuildInfo().Source()
	}
	m := &Members{facts: f, waits: new(atomic.Pointer[func() string]), patience: s.PeerTimeout}
	text, err := f.Encode()
	if err != nil {
		return nil, term.AsUsage(err)
	}
	o := tcp.Options{Rank: s.Rank, Ranks: s.Ranks, Plain: s.Plain, Host: f.Host, Facts: text, JoinTimeout: s.JoinTimeout, PeerTimeout: s.PeerTimeout}
	if s.MPI {
		if m.rowTransport, err = carry(ctx, k, &s); err != nil {
			return nil, err
		}
		o.Carry = m.rowTransport.Conn
	}
	if err := s.trust(ctx); err != nil {
		return nil, err
	}
	note := func(line string) { k.Note("%s", line) }
	o.Secret, o.Master, o.Compare, o.OnWait, o.Waits = s.Secret, s.Master, Compare(note), note, m.waitsFor
	m.Group, err = tcp.Join(ctx, o)
	var refused *tcp.Refused
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, &term.InterruptedError{Note: "while ranks joined: nothing was changed"}
	case errors.As(err, &refused) && refused.Lost:
		return nil, &term.Elsewhere{Code: term.ExitLost, Line: refused.Line}
	case errors.As(err, &refused): // the same at all ranks
		return nil, &term.Elsewhere{Code: term.ExitUsage, Line: refused.Line}
	default:
		return nil, term.AsUsage(err)
	}
	hosts, err := All(ctx, m, f.Host+" "+boot())
	if err != nil {
		_ = m.Close() // err says why
		return nil, err
	}
	m.hosts = hosts
	for rank, h := range hosts {
		if h != hosts[m.Rank()] {
			continue
		}
		if m.here++; rank < m.Rank() {
			m.local++
		}
	}
	return m, nil
}

// Close leaves the others. Where MPI carried rows and all ranks leave, MPI is ended, too; after a fault it is left as it is, since it would wait for
// those that are lost.
func (m *Members) Close() error {
	err := m.Group.Close()
	if m.rowTransport == nil {
		return err
	}
	return errors.Join(err, m.rowTransport.Close(err == nil, m.patience))
}

// boot tells apart machines of one name, where the system can.
func boot() string {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return string(id)
}

// Local is the number of this rank among those of this machine, and how many these are.
func (m *Members) Local() (rank, ranks int) {
	if m == nil {
		return 0, 1
	}
	return m.local, m.here
}

// Hosts returns what tells machines apart, by rank: equal for ranks of one.
func (m *Members) Hosts() []string { return m.hosts }

// Leads reports whether this is rank 0, which writes and decides.
func (m *Members) Leads() bool { return m == nil || m.Rank() == 0 }

// Name is what lines call a rank.
func (m *Members) Name(rank int) string {
	return fmt.Sprintf("rank %d (host %.64s)", rank, term.Escaped(m.Group.Members()[rank].Host))
}

// SayWaits makes f say what this rank waits for, in the line that names a loss.
func (m *Members) SayWaits(f func() string) {
	if m != nil {
		m.waits.Store(&f)
	}
}

func (m *Members) waitsFor() string {
	if f := m.waits.Load(); f != nil {
		return (*f)()
	}
	return ""
}

// Until returns a context that ends with ctx, and when the other ranks cannot be reached any more.
func (m *Members) Until(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if m == nil {
		return ctx, cancel
	}
	go func() { // ends with ctx, which the caller cancels
		select {
		case <-m.Done():
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// outcome is how a step ended at a rank.
type outcome struct {
	Code int    `json:"code"`
	Line string `json:"line"`
}

// fault is nil, or the error of an outcome.
func (o outcome) fault() error {
	if o.Code == term.ExitDone {
		return nil
	}
	return &term.Elsewhere{Code: o.Code, Line: o.Line}
}

// Agree is called by all ranks behind a step, with the error of each. It returns nil if all did it, else the same error at all of them: that
// of the lowest rank that failed, with its exit code. What they have agreed on already stays as it is. An interruption ends the run of
// all ranks at once, wherever they are.
func (m *Members) Agree(ctx context.Context, err error) error {
	if there := (*term.Elsewhere)(nil); m == nil || errors.As(err, &there) {
		return err
	}
	if m.Err() != nil || term.ExitCode(err) == term.ExitInterrupted {
		return m.Fail(err)
	}
	err = term.WithinLimits(err)
	mine := outcome{Code: term.ExitCode(err)}
	if err != nil {
		mine.Line = m.Name(m.Rank()) + ": " + term.OneLine(err)
	}
	all, err := gather(ctx, m, tagOutcome, mine)
	if err != nil {
		return err
	}
	var first outcome
	for _, o := range all {
		if o.Code != term.ExitDone {
			first = o
			break
		}
	}
	first, err = broadcast(ctx, m, tagOutcome, first)
	if err != nil {
		return err
	}
	return first.fault()
}

// All returns what every rank gives, by rank.
func All[T any](ctx context.Context, m *Members, own T) ([]T, error) {
	all, err := gather(ctx, m, tagAll, own)
	if err != nil {
		return nil, err
	}
	return broadcast(ctx, m, tagAll, all)
}

// AtFirst returns what every rank gives at rank 0, elsewhere nothing.
func AtFirst[T any](ctx context.Context, m *Members, own T) ([]T, error) {
	return gather(ctx, m, tagAll, own)
}

// First returns what rank 0 gives.
func First[T any](ctx context.Context, m *Members, own T) (T, error) {
	return broadcast(ctx, m, tagFirst, own)
}

// FirstBytes is First for what may be large.
func (m *Members) FirstBytes(ctx context.Context, b []byte) ([]byte, error) {
	if m == nil {
		return b, nil
	}
	b, err := m.Broadcast(ctx, tagFirst, b)
	return b, m.broken(ctx, err)
}

// gather returns what all ranks give at rank 0, elsewhere nothing.
func gather[T any](ctx context.Context, m *Members, tag uint32, own T) ([]T, error) {
	if m == nil {
		return []T{own}, nil
	}
	raw, err := json.Marshal(own)
	if err != nil {
		return nil, m.Fail(err)
	}
	from, err := m.Gather(ctx, tag, raw)
	if err != nil {
		return nil, m.broken(ctx, err)
	}
	all := make([]T, len(from))
	for rank, raw := range from {
		if err := json.Unmarshal(raw, &all[rank]); err != nil {
			return nil, m.Fail(fmt.Errorf("read what %s says: %w", m.Name(rank), err))
		}
	}
	return all, nil
}

// broadcast returns what rank 0 gives.
func broadcast[T any](ctx context.Context, m *Members, tag uint32, own T) (T, error) {
	if m == nil {
		return own, nil
	}
	var raw []byte
	var err error
	if m.Leads() {
		if raw, err = json.Marshal(own); err != nil {
			return own, m.Fail(err)
		}
	}
	raw, err = m.Broadcast(ctx, tag, raw)
	if err != nil {
		return own, m.broken(ctx, err)
	}
	var got T
	if err := json.Unmarshal(raw, &got); err != nil {
		return own, m.Fail(fmt.Errorf("read what %s says: %w", m.Name(0), err))
	}
	return got, nil
}

// Same adds to what this rank says of itself, and returns the same error at all ranks if they differ (cluster.Compare).
func (m *Members) Same(ctx context.Context, add func(f *cluster.Facts)) error {
	if m == nil {
		return nil
	}
	add(&m.facts)
	all, err := gather(ctx, m, tagFacts, m.facts)
	if err != nil {
		return err
	}
	var found outcome
	if err := cluster.Compare(all); err != nil {
		found = outcome{term.ExitUsage, term.OneLine(err)}
	}
	found, err = broadcast(ctx, m, tagFacts, found)
	if err != nil {
		return err
	}
	return found.fault()
}

// errStopped is the interruption of a step that leaves nothing behind.
var errStopped = &term.InterruptedError{Note: "nothing was changed"}

// broken is the error of a message that did not come through: the end of the run, or of ctx, which ends the run.
func (m *Members) broken(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case m.Err() == nil && ctx.Err() != nil:
		err = errStopped
	}
	return m.Fail(err)
}

// failed is the line of a run that ended because a rank said so: who, when and why.
var failed = regexp.MustCompile(`^(rank (\d+)(?: \(host [^)]*\))?) failed (before the first epoch|in epoch \d+): (.*)$`)

// Fail ends the run of all ranks with a fault of this one, unless it has ended, and returns the line that all of them have. The exit code is
// that of err where it is the fault that counts, 130 where a rank was interrupted, else 4. What all ranks have agreed on stays as it is.
func (m *Members) Fail(err error) error {
	var there *term.Elsewhere
	switch {
	case m == nil, errors.As(err, &there):
		return err
	case err == nil:
		err = m.Err()
	case errors.Is(err, context.Canceled):
		err = errStopped
	}
	err = term.WithinLimits(err)
	end := &term.Elsewhere{Code: term.ExitLost, Line: m.Group.Fail(errors.New(term.OneLine(err))).Error()}
	f := failed.FindStringSubmatch(end.Line)
	if f == nil {
		return end
	}
	if ended := (*tcp.Ended)(nil); f[2] == strconv.Itoa(m.Rank()) && !errors.As(err, &ended) {
		end.Code = term.ExitCode(err)
	}
	if note, ok := strings.CutPrefix(f[4], "interrupted: "); ok {
		end.Code, end.Line = term.ExitInterrupted, fmt.Sprintf("interrupted: %s was stopped %s: %s", f[1], f[3], strings.TrimPrefix(note, f[3]+": "))
	}
	return end
}
