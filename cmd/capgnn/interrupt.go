package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// outliveReaders makes writing into a pipe that nobody reads any more an error of that write; else the system ends the process,
// and with it a training whose notes nobody reads. Programs that this one starts are not touched.
func outliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// interruptible returns a context that ends at the first Ctrl-C or SIGTERM, so that what is under way can be finished; the
// second one ends the process at once with exit code 130. when says when it stops, such as "after this epoch". The caller
// calls stop when it is done.
func interruptible(ctx context.Context, k *console, when string) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	// Owned by the caller: stop ends it and waits for nothing, as it holds nothing.
	go func() {
		for n := 1; ; n++ {
			select {
			case <-done:
				return
			case <-signals:
			}
			if n == 2 {
				k.leave()
				os.Exit(exitInterrupted)
			}
			k.note("stopping %s; once more to stop at once", when)
			cancel()
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}
