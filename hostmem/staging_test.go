package hostmem

import (
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"unsafe"
)

func TestStaging(t *testing.T) {
	hook := &FailPin{}
	s, err := NewStaging("cuda:1", 100, LockOptions{Pinner: hook, Optional: true})
	if err != nil {
		t.Fatal(err)
	}
	take := func(holder string) *Half {
		t.Helper()
		h, err := s.Take(holder)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	refused := func(err error, want string) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	a, b := take("layer 1"), take("layer 2")
	pa, pb := unsafe.Pointer(unsafe.SliceData(a.Bytes())), unsafe.Pointer(unsafe.SliceData(b.Bytes()))
	if len(a.Bytes()) != 100 || len(b.Bytes()) != 100 || uintptr(pb)-uintptr(pa) != uintptr(os.Getpagesize()) {
		t.Errorf("halves of %d and %d bytes at %p and %p", len(a.Bytes()), len(b.Bytes()), pa, pb)
	}
	_, err = s.Take("layer 3")
	refused(err, "cuda:1: take half 0 of the staging for layer 3: layer 1 has it")
	if err := b.Release(); err != nil {
		t.Fatal(err)
	}
	_, err = s.Take("layer 3") // out of turn: half 0 is next
	refused(err, "layer 1 has it")
	if err := a.Release(); err != nil {
		t.Fatal(err)
	}
	refused(a.Release(), "nobody has it")
	_, err = s.Take("")
	refused(err, "no holder")
	if h := take("layer 3"); h != a {
		t.Errorf("half %d, want 0", h.index)
	}
	if err := s.Close(); err != nil || hook.Live() != 0 {
		t.Errorf("close: %v, %d registered", err, hook.Live())
	}
	_, err = s.Take("layer 4")
	for _, err := range []error{err, a.Release(), s.Close()} {
		if !errors.Is(err, os.ErrClosed) {
			t.Errorf("after close: %v", err)
		}
	}
	if a.Bytes() != nil {
		t.Error("a half has bytes after close")
	}
}

// Double buffering: a sender fills one half while the reader drains the other; every row arrives once, in order.
func TestStagingHandsOver(t *testing.T) {
	const rounds = 200
	s, err := NewStaging("cpu:0", 8<<10, LockOptions{Heap: true})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	full, free := make(chan *Half, 2), make(chan struct{}, 2)
	free <- struct{}{}
	free <- struct{}{}
	var wg sync.WaitGroup
	wg.Go(func() {
		defer close(full)
		for round := range rounds {
			<-free
			h, err := s.Take("round")
			if err != nil {
				t.Error(err)
				return
			}
			fill(Of[float32](h.Bytes()), round)
			full <- h
		}
	})
	round := 0
	for h := range full {
		if i := differs(Of[float32](h.Bytes()), round); i >= 0 {
			t.Errorf("round %d: element %d is %g", round, i, Of[float32](h.Bytes())[i])
		}
		if err := h.Release(); err != nil {
			t.Error(err)
		}
		free <- struct{}{}
		round++
	}
	wg.Wait()
	if round != rounds {
		t.Errorf("%d rounds, want %d", round, rounds)
	}
}

// fill writes rows that belong to an epoch and to their places.
func fill(rows []float32, epoch int) {
	for i := range rows {
		rows[i] = float32(epoch<<8 + i&255)
	}
}

// differs returns the first element that does not belong to epoch, −1: none.
func differs(rows []float32, epoch int) int {
	for i, x := range rows {
		if x != float32(epoch<<8+i&255) {
			return i
		}
	}
	return -1
}
