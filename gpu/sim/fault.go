package sim

import (
	"errors"
	"fmt"
	"time"

	"capgnn/gpu"
)

// Faults is what goes wrong on a device, on purpose. The zero value: nothing does.
type Faults struct {
	// NoMemoryFor makes allocations of this name fail; "" = none does.
	NoMemoryFor string
	// NoMemoryAt makes the allocation of this number fail, counted from 1; 0 = none does.
	NoMemoryAt int
	// LostAfter is the number of operations after which the device is lost; 0 = it is not. Waits and Records are none.
	LostAfter int
	// SlowBy makes copies that begin at SlowFrom or later take so many times as long; 0 = they do not.
	SlowBy   float64
	SlowFrom time.Duration
}

func (f *Faults) validate() error {
	if f.NoMemoryAt < 0 || f.LostAfter < 0 || f.SlowFrom < 0 {
		return errors.New("faults: a number is negative")
	}
	if f.SlowBy != 0 && !(f.SlowBy >= 1 && f.SlowBy <= 1e6) {
		return fmt.Errorf("faults: slow link by %g is outside 1..1e6", f.SlowBy)
	}
	return nil
}

func (f *Faults) slowLink(now time.Duration) bool { return f.SlowBy > 0 && now >= f.SlowFrom }

// deny returns the error of the n-th allocation if it is to fail.
func (d *Device) deny(size gpu.Bytes, name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.allocations++
	if f := &d.faults; name == f.NoMemoryFor && name != "" || d.allocations == f.NoMemoryAt {
		return &gpu.OutOfMemory{Device: d.info.Name, Name: name, Need: size}
	}
	return nil
}

// admit counts an operation and reports whether the device is there to run it.
func (d *Device) admit() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.faults.LostAfter > 0 && d.operations >= d.faults.LostAfter {
		return false
	}
	d.operations++
	return true
}
