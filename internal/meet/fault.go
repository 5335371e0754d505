package meet

import (
	"cmp"
	"context"
	"errors"

	"capgnn/gpu"
)

// stop ends what a part does: another part did not answer, or rows are not those that the schedule promises.
type stop struct{ err error }

// Guard runs f and returns the error that Receive or Stop has ended it with.
func Guard(f func()) (err error) {
	defer func() {
		switch r := recover().(type) {
		case nil:
		case stop:
			err = r.err
		default:
			panic(r)
		}
	}()
	f()
	return nil
}

// Stop ends the innermost Guard of the calling goroutine with an error.
func Stop(err error) { panic(stop{err}) }

// Echo is what a part reports when another one has ended the run.
type Echo struct {
	Err  error
	Wait *Late // what the part was waiting for then; nil: nothing
}

func (e *Echo) Error() string { return e.Err.Error() }
func (e *Echo) Unwrap() error { return e.Err }

// RootCause returns the error of the parts that the others follow from: a device's before that of one who read its rows, which is one
// that follows reports, and that before the echo of either. Among equals a part that waits for its own device counts before
// those who wait for that part, then the first part. errs are by part, of which the first one has the number first: who waited for a part that
// itself was waiting for another is passed over for that one, and so on. Of a part that is not among them nothing is known.
func RootCause(errs []error, first int, follows func(error) bool) error {
	var best error
	least := 0
	for _, err := range errs {
		if err == nil {
			continue
		}
		if d := distance(err, follows); best == nil || d < least {
			best, least = err, d
		}
	}
	if late := new(Late); errors.As(best, &late) && distance(best, follows) == 1 {
		return last(errs, first, late, best)
	}
	return best
}

// last follows who waited for whom, from a part that waited too long with the error start, and returns the error of the last one. Where they
// waited in a circle it is that of a part that waited for one which, for its part, waited for room: that one's rows were missing, and the others
// took none of it for that. In other circles it is start.
func last(errs []error, first int, late *Late, start error) error {
	begin, best, passed := late, start, map[int]bool{late.Part: true}
	var blocked error // of who waited for a part that waited for room
	for late.For >= first && late.For < first+len(errs) && late.For != late.Part {
		if passed[late.For] {
			if blocked == nil && begin.Room && !late.Room && late.For == begin.Part {
				blocked = best
			}
			return cmp.Or(blocked, start)
		}
		passed[late.For] = true
		var echo *Echo
		var next *Late
		err := errs[late.For-first]
		if errors.As(err, &echo) {
			if next = echo.Wait; next != nil {
				err = next
			}
		} else if !errors.As(err, &next) {
			next = nil
		}
		if next == nil {
			break
		}
		if blocked == nil && next.Room && !late.Room {
			blocked = best
		}
		late, best = next, err
	}
	return best
}

// distance orders errors by how far they are from the cause.
func distance(err error, follows func(error) bool) int {
	var (
		echo  *Echo
		fault *gpu.Fault
	)
	switch {
	case errors.As(err, &echo), errors.Is(err, context.Canceled) && !errors.As(err, &fault): // others stopped it
		return 3
	case follows(err):
		return 2
	case errors.Is(err, gpu.ErrDeviceLost) && !errors.As(err, &fault):
		return 1
	}
	return 0
}
