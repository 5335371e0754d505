//go:build !unix

package hostmem

import "time"

// ProcessorTime returns the processor time that this process has used; 0 where the system does not say.
func ProcessorTime() time.Duration { return 0 }
