//go:build unix

package regular

import "syscall"

// withoutWaiting keeps the opening of a FIFO, which took a file's name after the look at it, from waiting for its writer.
const withoutWaiting = syscall.O_NONBLOCK
