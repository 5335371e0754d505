package minibatch

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"capgnn/internal/meet"
	"capgnn/internal/together"
)

// wish is what a rank wants behind a step, and what all do: the largest of their wishes.
type wish byte

const (
	goOn  wish = iota
	pause      // the stretch ends: losses are looked at
	halt       // the run is to stop
)

// accord has all ranks do the same behind each step: another one, or the end of the stretch. Each tells rank 0 its wish when it begins the step, and rank 0 tells all what follows, while they
// compute. No rank is more than a step ahead of another, as weights follow from the gradients of all.
type accord struct {
	net   together.Ranks
	hub   *meet.Hub
	own   int           // the first part of this rank
	other int           // a part of rank 0; there, one of rank 1
	said  atomic.Uint32 // the step that was begun last
	comes chan wish     // what follows; 1 slot

	mu    sync.Mutex // of rank 0
	heard map[uint32]*wishes
}

// wishes are those that rank 0 has heard for a step.
type wishes struct {
	ranks int
	most  wish
}

// areas are those of wishes, and of what follows.
func (a *accord) areas() (all [][4]int) {
	for rank := 1; rank < a.net.Ranks(); rank++ {
		all = append(all, [4]int{rank, 0, int(accordArea), 1}, [4]int{0, rank, int(accordArea), 1})
	}
	return all
}

// open begins to listen.
func (a *accord) open() {
	a.comes, a.heard = make(chan wish, 1), map[uint32]*wishes{}
	listen := func(rank int, hear func(step uint32, w wish)) {
		area := make([]byte, 1)
		a.net.Expect(rank, accordArea, area, func(step uint32, hi int) {
			if hi < len(area) {
				return
			}
			w := min(wish(area[0]), halt)
			a.net.Taken(rank, accordArea, step)
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
func (a *accord) say(step uint32, w wish) {
	a.said.Store(step)
	if a.net.Rank() == 0 {
		a.hear(step, w)
		return
	}
	a.send(0, step, w)
}

func (a *accord) send(to int, step uint32, w wish) {
	a.net.Send(to, accordArea, step, 0, []byte{byte(w)}, func(err error) {
		if err != nil {
			a.hub.Fail(fmt.Errorf("tell rank %d whether steps go on: %w", to, err))
		}
	})
}

// hear is rank 0's: behind the wishes of all it says what follows.
func (a *accord) hear(step uint32, w wish) {
	a.mu.Lock()
	defer a.mu.Unlock()
	x := a.heard[step]
	if x == nil {
		x = &wishes{}
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
func (a *accord) follow(_ uint32, w wish) {
	select {
	case a.comes <- w:
	default:
		a.hub.Fail(errors.New("rank 0 says twice whether steps go on"))
	}
}

// next waits for what follows the step that was begun last. It ends the part's meet.Guard where nobody says.
func (a *accord) next() wish {
	return meet.Receive(a.hub, a.comes, a.own, a.other, "the go-ahead")
}
