package hostmem

import (
	"bytes"
	"errors"
	"os"
	"sync"
	"testing"
)

func TestSlots(t *testing.T) {
	const n, size = 3, 10
	r, err := NewRegion("cache", SlotsCost(n, size), LockOptions{Heap: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Slots("many", n+100, size); !errors.As(err, new(*OutOfMemory)) {
		t.Errorf("more slots than fit: %v", err)
	}
	s, err := r.Slots("few", n, size)
	if err != nil {
		t.Fatal(err)
	}
	row := bytes.Repeat([]byte{7}, size)
	if err := s.Put(3, 5, row); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(s.Rows()[3*size:4*size], row) || len(s.Rows()) != 2*n*size {
		t.Error("the row is not where it belongs")
	}
	if err := s.Check([]int32{3, 3}, []int{5, 5}); err != nil {
		t.Error(err)
	}
	var f *VersionFault
	if err := s.Check([]int32{3, 2}, []int{5, 5}); !errors.As(err, &f) || f.Want != 5 || f.Found != [2]int{-1, 5} || f.Writing != [2]bool{} {
		t.Errorf("a row that nobody wrote: %v", err)
	}
	if err := s.Put(3, 6, row); err != nil {
		t.Fatal(err)
	}
	if err := s.Check([]int32{3}, []int{5}); !errors.As(err, &f) || f.Found[1] != 6 {
		t.Errorf("a row that was written over: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(s.Put(0, 7, row), s.Check([]int32{3}, []int{6})); !errors.Is(err, os.ErrClosed) || s.Rows() != nil {
		t.Errorf("after Close: %v", err)
	}
}

// Writers and readers of different rows do not meet, and a reader sees what the stamps say.
func TestSlotsTogether(t *testing.T) {
	const n, size, epochs = 8, 64, 50
	r, err := NewRegion("cache", SlotsCost(n, size), LockOptions{Heap: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	s, err := r.Slots("shared", n, size)
	if err != nil {
		t.Fatal(err)
	}
	for e := range epochs {
		var wg sync.WaitGroup
		for slot := range int32(n) {
			wg.Go(func() {
				if err := s.Put(2*slot+int32(e%2), e, bytes.Repeat([]byte{byte(e)}, size)); err != nil {
					t.Error(err)
				}
			})
			if e == 0 {
				continue
			}
			wg.Go(func() {
				row := 2*slot + int32((e-1)%2)
				if err := s.Check([]int32{row}, []int{e - 1}); err != nil {
					t.Error(err)
				}
				if got := s.Rows()[int(row)*size]; got != byte(e-1) {
					t.Errorf("slot %d holds %d in epoch %d", slot, got, e)
				}
				if err := s.Check([]int32{row}, []int{e - 1}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
}
