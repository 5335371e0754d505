package progtest

import (
	"os/exec"

	"golang.org/x/sys/unix"
)

// ended reports whether a process has ended, for which somebody still has to wait.
func ended(cmd *exec.Cmd) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, cmd.Process.Pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err != nil || info.Signo != 0
}
