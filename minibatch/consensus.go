package minibatch

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"capgnn/cluster"
	"capgnn/internal/meet"
	"capgnn/internal/trainer"
	"capgnn/pipeline/link"
)

// vote is what a rank wants behind a step, and what all do: the largest of their votes.
type vote byte

const (
	goOn  vote = iota
	pause      // the stretch ends: losses are looked at
	halt       // the run is to stop
)

// consensus has all ranks do the same behind each step: another one, or the end of the stretch. Each tells rank 0 its vote when it begins the step, and rank 0 tells all what follows, while they
// compute. No rank is more than a step ahead of another, as weights follow from the gradients of all.
type consensus struct {
	net   *link.Net
	hub   *meet.Hub
	own   int           // the first part of this rank
	other int           // a part of rank 0; there, one of rank 1
	said  atomic.Uint32 // the step that was begun last
	comes chan vote     // what follows; 1 slot

	mu    sync.Mutex // of rank 0
	heard map[uint32]*votes
}

// votes are those that rank 0 has heard for a step.
type votes struct {
	ranks int
	most  vote
}

// areas are those of votes, and of what follows.
func (a *consensus) areas() (all []cluster.Area) {
	for rank := 1; rank < a.net.Ranks(); rank++ {
		all = append(all, votesArea(rank, 0), votesArea(0, rank))
	}
	return all
}

func votesArea(from, to int) cluster.Area {
	return cluster.Area{From: from, To: to, Number: trainer.ConsensusArea, Bytes: 1}
}

func (a *consensus) open() {
	a.comes, a.heard = make(chan vote, 1), map[uint32]*votes{}
	listen := func(rank int, hear func(step uint32, w vote)) {
		area, word := votesArea(rank, a.net.Rank()), make([]byte, 1)
		a.net.Expect(area, word, func(step uint32, hi int) {
			if hi < len(word) {
				return
			}
			w := min(vote(word[0]), halt)
			a.net.Taken(area, step)
			hear(step, w)
		})
	}
	if a.net.Rank() > 0 {
		listen(0, a.follow)
		return
	}
	for rank := 1; rank < a.net.Ranks(); rank++ {
		listen(rank, a.hear)
	}
}

// say is called when this rank begins a step.
func (a *consensus) say(step uint32, w vote) {
	a.said.Store(step)
	if a.net.Rank() == 0 {
		a.hear(step, w)
		return
	}
	a.send(0, step, w)
}

func (a *consensus) send(to int, step uint32, w vote) {
	a.net.Send(nil, votesArea(a.net.Rank(), to), step, 0, []byte{byte(w)}, "whether steps go on", nil)
}

// hear is rank 0's: behind the votes of all it says what follows.
func (a *consensus) hear(step uint32, w vote) {
	a.mu.Lock()
	defer a.mu.Unlock()
	x := a.heard[step]
	if x == nil {
		x = &votes{}
		a.heard[step] = x
	}
	x.ranks, x.most = x.ranks+1, max(x.most, w)
	if len(a.heard) > 2 {
		a.hub.Fail(fmt.Errorf("ranks begin other steps than %d: start all ranks from one checkpoint", step))
		return
	}
	if x.ranks < a.net.Ranks() {
		return
	}
	delete(a.heard, step)
	for rank := 1; rank < a.net.Ranks(); rank++ {
		a.send(rank, step, x.most)
	}
	a.follow(step, x.most)
}

// follow passes on what follows.
func (a *consensus) follow(_ uint32, w vote) {
	select {
	case a.comes <- w:
	default:
		a.hub.Fail(errors.New("rank 0 says twice whether steps go on"))
	}
}

// next waits for what follows the step that was begun last. It ends the part's meet.Guard where nobody says.
func (a *consensus) next() vote {
	return meet.Receive(a.hub, a.comes, a.own, a.other, "the go-ahead")
}
