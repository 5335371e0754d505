package learn

import (
	"errors"
	"runtime/debug"
)

// errGone is what OnFault is told.
var errGone = errors.New("features of a shard cannot be read any more: its file has become shorter, or lies on a disk that fails")

// OnFault has f called where mapped features of a shard cannot be read any more, in place of the program's end. The rows that were asked for are then not written. f is called by whichever
// goroutine reads, perhaps more than once; nil: as before.
func (s *Shards) OnFault(f func(error)) {
	if f == nil {
		s.fault.Store(nil)
	} else {
		s.fault.Store(&f)
	}
}

// read runs f, which reads mapped features.
func (s *Shards) read(f func()) {
	told := s.fault.Load()
	if told == nil {
		f()
		return
	}
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch e := recover().(type) {
		case nil:
		case interface{ Addr() uintptr }: // a bus error
			(*told)(errGone)
		default:
			panic(e)
		}
	}()
	f()
}
