package ranks

import "syscall"

// child puts a rank into a process group of its own, as a terminal's Ctrl-C is passed on once, and lets the system kill it when
// the launcher dies.
func child() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
