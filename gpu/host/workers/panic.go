package workers

import (
	"fmt"
	"runtime"
	"strings"
)

// Panic is a panic inside a loop or an operation, with the place it came from.
type Panic struct {
	value any
	where string // file:line
}

func (p *Panic) Error() string { return fmt.Sprintf("%v (at %s)", p.value, p.where) }

// located makes a Panic of a recovered value: its place is the innermost frame outside package runtime.
func located(v any) *Panic {
	if p, ok := v.(*Panic); ok {
		return p
	}
	var pcs [32]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(1, pcs[:])])
	p := &Panic{value: v, where: "unknown place"}
	for panicking := false; ; {
		f, more := frames.Next()
		inRuntime := strings.HasPrefix(f.Function, "runtime.")
		if panicking && !inRuntime {
			p.where = fmt.Sprintf("%s:%d", f.File[strings.LastIndexByte(f.File, '/')+1:], f.Line)
			return p
		}
		panicking = panicking || inRuntime && strings.Contains(f.Function, "panic")
		if !more {
			return p
		}
	}
}

// Guard runs f and turns its panic into an error.
func Guard(f func()) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = located(v)
		}
	}()
	f()
	return nil
}
