package term

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"syscall"

	"capgnn/hostmem"
	"capgnn/internal/room"
)

// watchFrom is the smallest file or array, in bytes, that gets a bar of its own.
const watchFrom = 1 << 20

// DataWatch shows how far reading or writing a data set has come, one bar for each file or array, and stops it when its
// context ends.
type DataWatch struct {
	Ctx     context.Context
	Console *Console
	Verb    string // before the name of what is read or written
	name    string // of what the bar is about
	done    int64  // bytes
	bar     *Progress
}

// At is a dataset.Watch.
func (w *DataWatch) At(name string, done, total int64) error {
	if name != w.name || done < w.done {
		w.End()
		w.name = name
	}
	w.done = done
	if total >= watchFrom {
		if w.bar == nil {
			w.bar = w.Console.Begin(w.Verb+" "+name, total, UnitBytes, LinePause)
		}
		w.bar.At(done, "")
	}
	return w.Ctx.Err()
}

// End removes the bar.
func (w *DataWatch) End() {
	if w.bar != nil {
		w.bar.End()
		w.bar = nil
	}
}

// Unreadable gives the error of reading a data set its exit code. stopped says what an interruption leaves.
func Unreadable(err error, stopped string) error {
	var short *room.Short
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return &InterruptedError{stopped}
	case errors.Is(err, syscall.ENOMEM): // of a file that is mapped
		return &FitError{err, "give this process more address space (ulimit -v) or take a smaller data set"}
	case errors.As(err, &short):
		return &FitError{err, fmt.Sprintf("give this process %s more (%s, container, machine) or take a smaller data set", Size(short.Bytes), cmp.Or(hostmem.Raise(int64(short.Bytes)), "ulimit -v"))}
	}
	return AsUsage(err)
}
