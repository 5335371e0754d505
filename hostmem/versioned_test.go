package hostmem

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

// blockOf returns a block of n numbers in a region of its own.
func blockOf(t *testing.T, n int, o LockOptions) *Versioned {
	t.Helper()
	size := int64(4 * n)
	r, err := NewRegion("global cache", BlockCost(size), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
			t.Error(err)
		}
	})
	b, err := r.Block("layer 1 forward", size)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// refresh writes the rows of an epoch.
func refresh(t *testing.T, b *Versioned, epoch int) {
	t.Helper()
	mem, err := b.Begin(epoch)
	if err == nil {
		fill(Of[float32](mem), epoch)
		err = b.Publish()
	}
	if err != nil {
		t.Error(err)
	}
}

func TestVersions(t *testing.T) {
	b := blockOf(t, 64, LockOptions{Optional: true})
	want := func(epochs ...int) {
		t.Helper()
		if got := b.Epochs(); !slices.Equal(got, epochs) {
			t.Errorf("epochs %v, want %v", got, epochs)
		}
		for _, e := range epochs {
			r, err := b.Read(e)
			if err != nil {
				t.Errorf("epoch %d: %v", e, err)
				continue
			}
			if i := differs(Of[float32](r.Rows()), e); i >= 0 {
				t.Errorf("epoch %d: element %d is %g", e, i, Of[float32](r.Rows())[i])
			}
			if err := r.Check(); err != nil {
				t.Errorf("epoch %d: %v", e, err)
			}
		}
	}
	want()
	refresh(t, b, 0)
	want(0)
	refresh(t, b, 3)
	want(0, 3)
	refresh(t, b, 4)
	want(3, 4)
	if _, err := b.Begin(9); err != nil {
		t.Fatal(err)
	}
	want(4)
	if err := b.Publish(); err != nil {
		t.Fatal(err)
	}
	if got := b.Epochs(); !slices.Equal(got, []int{4, 9}) {
		t.Errorf("epochs %v, want 4 and 9", got)
	}
}

func TestVersionFaults(t *testing.T) {
	cases := []struct {
		name   string
		before func(t *testing.T, b *Versioned)
		want   VersionFault
		line   string
	}{
		{"nothing there", func(*testing.T, *Versioned) {},
			VersionFault{Want: 5, Found: [2]int{-1, -1}}, "epoch 5 is not there (generation 0: nothing; generation 1: nothing)"},
		{"too late", func(t *testing.T, b *Versioned) { refresh(t, b, 5); refresh(t, b, 6); refresh(t, b, 7) },
			VersionFault{Want: 5, Found: [2]int{7, 6}}, "epoch 5 is not there (generation 0: epoch 7; generation 1: epoch 6)"},
		{"too early", func(t *testing.T, b *Versioned) { refresh(t, b, 4) },
			VersionFault{Want: 5, Found: [2]int{4, -1}}, "epoch 5 is not there (generation 0: epoch 4; generation 1: nothing)"},
		{"not published", func(t *testing.T, b *Versioned) {
			if _, err := b.Begin(5); err != nil {
				t.Fatal(err)
			}
		}, VersionFault{Want: 5, Found: [2]int{5, -1}, Writing: [2]bool{true, false}},
			"epoch 5 is not there (generation 0: epoch 5, being written; generation 1: nothing)"},
		{"no epoch", func(t *testing.T, b *Versioned) { refresh(t, b, 4) },
			VersionFault{Want: -1, Found: [2]int{4, -1}}, "epoch -1 is not there"},
	}
	for _, c := range cases {
		b := blockOf(t, 4, LockOptions{Optional: true})
		c.before(t, b)
		c.want.Owner, c.want.Block = "global cache", "layer 1 forward"
		_, err := b.Read(c.want.Want)
		var got *VersionFault
		if !errors.As(err, &got) || *got != c.want || !strings.Contains(err.Error(), c.line) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.line)
		}
	}
}

// A writer that does not wait for the barrier is found out by the check, from its first mark on.
func TestOverwrittenWhileRead(t *testing.T) {
	for _, published := range []bool{false, true} {
		b := blockOf(t, 4, LockOptions{Optional: true})
		refresh(t, b, 4)
		r, err := b.Read(4)
		if err != nil {
			t.Fatal(err)
		}
		refresh(t, b, 5)
		if err := r.Check(); err != nil {
			t.Errorf("the other generation was written: %v", err)
		}
		if published {
			refresh(t, b, 6)
		} else if _, err := b.Begin(6); err != nil {
			t.Fatal(err)
		}
		want := VersionFault{Owner: "global cache", Block: "layer 1 forward", Want: 4, Torn: true, Found: [2]int{6, 5}, Writing: [2]bool{!published, false}}
		var got *VersionFault
		if err := r.Check(); !errors.As(err, &got) || *got != want || !strings.Contains(err.Error(), "overwritten while it was read") {
			t.Errorf("published %t: got %v, want %+v", published, err, want)
		}
	}
}

// A reader that follows the writer has its check when all rows are there, not before, and not once the next writer has begun.
func TestFollow(t *testing.T) {
	b := blockOf(t, 4, LockOptions{Optional: true})
	if _, err := b.Follow(5); err == nil {
		t.Error("follows a writer that has not begun")
	}
	mem, err := b.Begin(5)
	if err != nil {
		t.Fatal(err)
	}
	r, err := b.Follow(5)
	if err != nil {
		t.Fatal(err)
	}
	fill(Of[float32](mem), 5)
	if i := differs(Of[float32](r.Rows()), 5); i >= 0 {
		t.Errorf("element %d is of another epoch", i)
	}
	var early *VersionFault
	if err := r.Check(); !errors.As(err, &early) || early.Torn || !strings.Contains(err.Error(), "epoch 5 is not there (generation 0: epoch 5, being written") {
		t.Errorf("checked before it was published: %v", err)
	}
	if err := b.Publish(); err != nil {
		t.Fatal(err)
	}
	if err := r.Check(); err != nil {
		t.Error(err)
	}
	if again, err := b.Follow(5); err != nil || again != r {
		t.Errorf("published rows: %v, %v", again, err)
	}
	refresh(t, b, 6)
	if _, err := b.Begin(7); err != nil {
		t.Fatal(err)
	}
	var torn *VersionFault
	if err := r.Check(); !errors.As(err, &torn) || !torn.Torn {
		t.Errorf("checked after the next writer has begun: %v", err)
	}
	if _, err := b.Follow(5); err == nil {
		t.Error("follows a writer of another epoch")
	}
}

func TestWriterOrder(t *testing.T) {
	b := blockOf(t, 4, LockOptions{Optional: true})
	begin := func(epoch int) error { _, err := b.Begin(epoch); return err }
	steps := []struct {
		name string
		do   func() error
		want string // "" = goes well
	}{
		{"publish first", b.Publish, "publish without begin"},
		{"negative epoch", func() error { return begin(-1) }, "begin epoch -1"},
		{"begin", func() error { return begin(2) }, ""},
		{"begin twice", func() error { return begin(3) }, "begin epoch 3 after epoch 2 (published: false)"},
		{"publish", b.Publish, ""},
		{"publish twice", b.Publish, "publish without begin"},
		{"the same epoch", func() error { return begin(2) }, "begin epoch 2 after epoch 2 (published: true)"},
		{"an earlier epoch", func() error { return begin(1) }, "begin epoch 1 after epoch 2"},
		{"the next", func() error { return begin(3) }, ""},
	}
	for _, s := range steps {
		err := s.do()
		if s.want == "" && err != nil || s.want != "" && (err == nil || !strings.Contains(err.Error(), s.want)) {
			t.Errorf("%s: got %v, want %q", s.name, err, s.want)
		}
	}
}

func TestBlockAfterClose(t *testing.T) {
	r, err := NewRegion("global cache", 4096, LockOptions{Optional: true})
	if err != nil {
		t.Fatal(err)
	}
	idle, err1 := r.Block("idle", 16)
	open, err2 := r.Block("open", 16)
	if err := errors.Join(err1, err2); err != nil {
		t.Fatal(err)
	}
	refresh(t, idle, 1)
	reading, err := idle.Read(1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := open.Begin(1); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	_, errBegin := idle.Begin(2)
	_, errAgain := idle.Begin(2)
	_, errRead := idle.Read(1)
	for _, err := range []error{errBegin, errAgain, errRead, reading.Check(), open.Publish(), r.Close()} {
		if !errors.Is(err, os.ErrClosed) || !strings.Contains(err.Error(), "global cache: ") {
			t.Errorf("got %v, want closed", err)
		}
	}
	if idle.Epochs() != nil || reading.Rows() != nil || idle.Size() != 0 {
		t.Errorf("epochs %v, %d bytes to read", idle.Epochs(), len(reading.Rows()))
	}
}
