package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"

	"capgnn/internal/room"
)

// watchFrom is the smallest file or array, in bytes, that gets a bar of its own.
const watchFrom = 1 << 20

// dataWatch shows how far reading or writing a data set has come, one bar for each file or array, and stops it when its
// context ends.
type dataWatch struct {
	ctx  context.Context
	k    *console
	verb string
	name string // of what the bar is about
	done int64  // bytes
	bar  *progress
}

// at is a dataset.Watch.
func (w *dataWatch) at(name string, done, total int64) error {
	if name != w.name || done < w.done {
		w.end()
		w.name = name
	}
	w.done = done
	if total >= watchFrom {
		if w.bar == nil {
			w.bar = w.k.begin(w.verb+" "+name, total, unitBytes, between)
		}
		w.bar.at(done, "")
	}
	return w.ctx.Err()
}

// end removes the bar.
func (w *dataWatch) end() {
	if w.bar != nil {
		w.bar.end()
		w.bar = nil
	}
}

// unreadable gives the error of reading a data set its exit code. stopped says what an interruption leaves.
func unreadable(err error, stopped string) error {
	var short *room.Short
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return &interruptedError{stopped}
	case errors.Is(err, syscall.ENOMEM): // of a file that is mapped
		return &fitError{err, "give this process more address space (ulimit -v) or take a smaller data set"}
	case errors.As(err, &short):
		return &fitError{err, fmt.Sprintf("give this process %s more (ulimit -v, container, machine) or take a smaller data set", size(short.Bytes))}
	}
	return asUsage(err)
}
