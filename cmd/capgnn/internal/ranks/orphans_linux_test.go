package ranks

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A launcher that is killed takes its ranks along, also those on other machines.
func TestRanksDieWithTheLauncher(t *testing.T) {
	fakeSSH(t)
	for _, hosts := range []string{"here", "a,b"} {
		part := "hang" // the system kills those here
		if hosts != "here" {
			part = "sleep:60000" // those elsewhere are asked to end
		}
		cmd, pids := launcher(t, hosts, part)
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait() // it was killed
		for start := time.Now(); alive(pids[0]) || alive(pids[1]); time.Sleep(5 * time.Millisecond) {
			if time.Since(start) > 20*time.Second {
				t.Fatalf("%s: ranks %v outlive the launcher", hosts, pids)
			}
		}
	}
}

// Ctrl-C of a terminal goes to the launcher's process group: each rank hears of it once.
func TestTerminalInterruptsOnce(t *testing.T) {
	fakeSSH(t)
	for _, hosts := range []string{"here", "a,b"} {
		cmd, _ := launcher(t, hosts, "obey")
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil || !strings.Contains(cmd.Stdout.(*safe).String(), "interrupted, 0 more") {
			t.Errorf("%s: %v, %s", hosts, err, cmd.Stdout)
		}
	}
}

// launcher starts a launch of two ranks as a process with a group of its own, and waits until the ranks are there.
func launcher(t *testing.T, hosts, part string) (cmd *exec.Cmd, pids [2]int) {
	t.Helper()
	dir := t.TempDir()
	listen := "sleep:0"
	if part == "obey" {
		listen = "listen"
	}
	cmd = exec.Command(os.Args[0], hosts, listen, "pid:"+filepath.Join(dir, "pid"), part)
	cmd.Env = append(os.Environ(), asRank+"=launcher")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Stdout = &safe{}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for start := time.Now(); pids[0] == 0 || pids[1] == 0; time.Sleep(5 * time.Millisecond) {
		for i := range pids {
			text, _ := os.ReadFile(filepath.Join(dir, "pid"+strconv.Itoa(i)))
			pids[i], _ = strconv.Atoi(string(text))
		}
		if time.Since(start) > time.Minute {
			t.Fatalf("%s: ranks did not start", hosts)
		}
	}
	t.Cleanup(func() { // those that a fault of the launcher left
		for _, pid := range pids {
			if alive(pid) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	return cmd, pids
}

// alive reports whether a process is there and no zombie, which nobody may have collected yet.
func alive(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) && !containsZombie(stat)
}

func containsZombie(stat []byte) bool {
	for i := len(stat) - 1; i > 1; i-- {
		if stat[i] == ')' {
			return len(stat) > i+2 && stat[i+2] == 'Z'
		}
	}
	return false
}
