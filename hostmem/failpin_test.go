package hostmem

import "sync/atomic"

// FailPin is a Pinner that refuses one registration.
type FailPin struct {
	Pinner Pinner // nil: MLock
	Nth    int64  // the registration that fails, counted from 1; 0 = none
	Err    error  // what it returns

	asked atomic.Int64
	live  atomic.Int64
}

// Register implements Pinner.
func (f *FailPin) Register(mem []byte) error {
	if f.asked.Add(1) == f.Nth {
		return f.Err
	}
	if err := f.pinner().Register(mem); err != nil {
		return err
	}
	f.live.Add(1)
	return nil
}

// Unregister implements Pinner.
func (f *FailPin) Unregister(mem []byte) error {
	f.live.Add(-1)
	return f.pinner().Unregister(mem)
}

// Live returns the number of ranges that are registered.
func (f *FailPin) Live() int { return int(f.live.Load()) }

func (f *FailPin) pinner() Pinner {
	if f.Pinner == nil {
		return MLock{}
	}
	return f.Pinner
}
