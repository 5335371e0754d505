package tcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"capgnn/cluster"
)

// Ended says why a group has ended: one line, the same at all ranks that rank 0 could tell.
type Ended struct{ Line string }

func (e *Ended) Error() string { return e.Line }

// errClosed is what calls return after Close.
var errClosed = errors.New("the group of ranks was closed")

// fault is what a rank reports to rank 0: its own, or what it noticed of another.
type fault struct {
	About int    `json:"about"` // the rank at fault
	Loss  bool   `json:"loss"`  // it is gone; else it failed, or broke the protocol
	Text  string `json:"text"`
	Waits string `json:"waits,omitempty"` // what the rank that reports waited for
	By    int    `json:"by"`              // the rank that reports
	Epoch int64  `json:"epoch"`           // in which epoch it was; -1: before the first
	last  bool   // rank 0 is gone: nobody will name the first fault
}

const (
	// settle is how long rank 0 waits after a loss for a fault that may have caused it: a rank that fails says so before it goes.
	settle = 200 * time.Millisecond
	// farewell is how long rank 0 waits until the others have the verdict, and verdictTime how long they wait for it.
	farewell    = time.Second
	verdictTime = 3 * time.Second
)

// line makes one printable line of at most n bytes of a text that may come from the network.
func line(s string, n int) string {
	s = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > n {
		s = strings.ToValidUTF8(s[:n], "") + "…"
	}
	return strings.TrimSpace(s)
}

// words is the line of a fault.
func (g *Group) words(f fault) string {
	verb := "broke the protocol"
	switch {
	case f.By == f.About:
		verb = "failed"
	case f.Loss:
		verb = "lost"
	}
	when := "before the first epoch"
	if f.Epoch >= 0 {
		when = fmt.Sprintf("in epoch %d", f.Epoch)
	}
	s := fmt.Sprintf("%s %s %s: %s", g.members[f.About].name(), verb, when, line(f.Text, 4<<10))
	switch {
	case f.By == f.About:
	case f.Waits != "":
		s += fmt.Sprintf("; rank %d waited for %s", f.By, line(f.Waits, 200))
	case f.By != 0:
		s += "; seen by " + g.members[f.By].name()
	}
	return s
}

// linkFault reports what became of a connection, or what came on it.
func (g *Group) linkFault(l *link, err error) {
	f := fault{About: l.peer.Rank, By: g.o.Rank}
	var v violation
	if errors.As(err, &v) {
		f.Text = v.Error()
	} else {
		f.Loss, f.Text = true, cause(err, g.o.PeerTimeout)
		f.last = g.o.Rank != 0 && l == g.control[0]
		if slices.Contains(g.data, l) && g.o.Carry != nil && !isClosed(err) && !errors.Is(err, os.ErrDeadlineExceeded) {
			f.About = g.o.Rank // what carries rows has failed here
		}
	}
	g.report(f)
}

// report hands a fault to the goroutine that decides. What finds no room follows from others that did.
func (g *Group) report(f fault) {
	f.Epoch = g.epoch.Load()
	f.Waits = g.o.Waits()
	select {
	case g.faults <- f:
	default:
	}
}

// Fail reports a fault of this rank, and returns the line with which the group ends: of this fault, or of one before it. An error that
// follows from the end of the group is none.
func (g *Group) Fail(err error) error {
	g.report(fault{About: g.o.Rank, By: g.o.Rank, Text: err.Error()})
	<-g.done
	return g.Err()
}

// preside ends the group after the first fault. At rank 0 that is the first reported by anyone which is no echo: a loss gives way to a
// fault that another rank reports shortly after it. Elsewhere the first of this rank is reported, and rank 0 decides; without rank 0 each
// for itself.
func (g *Group) preside() {
	var f fault
	select {
	case f = <-g.faults:
	case <-g.done:
		return
	}
	if g.o.Rank == 0 {
		g.pronounce(g.first(f))
	} else {
		g.appeal(f)
	}
}

// first returns the fault that is no echo of others: f, or where f is a loss, the first fault of a rank that had not reported before. Where what carries
// rows has failed at a rank, that may follow from the loss of another, which counts then.
func (g *Group) first(f fault) fault {
	heard := map[int]bool{f.By: true}
	for timer := time.After(settle); f.Loss; {
		select {
		case other := <-g.faults:
			if !other.Loss && !heard[other.By] {
				return other
			}
			heard[other.By] = true
			if f.About == f.By && other.About != other.By {
				f = other
			}
		case <-timer:
			return f
		case <-g.done:
			return f
		}
	}
	return f
}

// pronounce tells all ranks why the group ends, waits a little until they have read it, and ends it here.
func (g *Group) pronounce(f fault) {
	text := g.words(f)
	gone := -1
	if f.Loss && f.About != f.By { // a rank whose own transport failed is still there to read it
		gone = f.About
	}
	g.tell(cluster.Verdict, text, gone)
	g.end(&Ended{text})
}

// tell sends a text to all ranks that joined and waits until they have closed their control connections, except one that is gone.
func (g *Group) tell(kind cluster.Kind, text string, gone int) {
	for _, l := range g.control {
		if l != nil {
			l.push(frame{head: cluster.Header{Kind: kind}, body: []byte(text)})
		}
	}
	timer := time.After(farewell)
	for r, l := range g.control {
		if l == nil || r == gone {
			continue
		}
		select {
		case <-l.dead:
		case <-timer:
			return
		}
	}
}

// appeal reports the first fault of this rank to rank 0 and waits for the verdict. Where rank 0 itself broke the protocol this rank does not
// listen to it any more.
func (g *Group) appeal(f fault) {
	root := g.control[0]
	var heard chan struct{} // closed when rank 0 has the fault, where it is not listened to
	if text, err := json.Marshal(f); err == nil && !f.last {
		said := make(chan struct{})
		if root.isDead() {
			heard = said
		}
		root.push(frame{head: cluster.Header{Kind: cluster.Fault}, body: text, sent: func(error) { close(said) }})
	}
	timer := time.After(verdictTime)
	for !f.last {
		select {
		case <-heard:
			f.last = true
		case other := <-g.faults:
			if other.last {
				f = other
			}
		case <-timer:
			f.last = true
		case <-g.done:
			return
		}
	}
	g.end(&Ended{g.words(f)})
}

// heard handles a fault that another rank reports; what it says of itself and of others is checked.
func (g *Group) heard(l *link, text []byte) error {
	var f fault
	if err := json.Unmarshal(text, &f); err != nil || f.About < 0 || f.About >= g.o.Ranks {
		return protocolError(errors.New("it reported a fault that cannot be read"))
	}
	f.By, f.last = l.peer.Rank, false
	select {
	case g.faults <- f:
	default:
	}
	return nil
}

// SetEpoch says which epoch this rank computes now: lines of faults name it.
func (g *Group) SetEpoch(epoch uint32) { g.epoch.Store(int64(epoch)) }
