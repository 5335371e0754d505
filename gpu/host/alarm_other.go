//go:build !linux

package host

import "time"

// alarm is a timer. The zero alarm is ready for use by one goroutine.
type alarm struct{}

// sleep returns after d.
func (*alarm) sleep(d time.Duration) { time.Sleep(d) }

func (*alarm) close() {}
