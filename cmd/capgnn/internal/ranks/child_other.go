//go:build !unix

package ranks

import "syscall"

// child leaves a rank as it is: there are no process groups here.
func child() *syscall.SysProcAttr { return nil }
