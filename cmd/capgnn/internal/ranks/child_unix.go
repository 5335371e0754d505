//go:build unix && !linux

package ranks

import "syscall"

// child puts a rank into a process group of its own, as a terminal's Ctrl-C is passed on once.
func child() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
