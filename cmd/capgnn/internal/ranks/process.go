package ranks

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/shell"
)

// process is a rank that runs here, or the ssh of one that runs elsewhere.
type process struct {
	cmd    *exec.Cmd
	remote bool
	first  string         // the line that it reads first, with its end
	stdin  io.WriteCloser // of an ssh: what keeps the rank alive, and takes names of signals
}

// here returns a rank of this machine, with these variables beside those of this process.
func (l *Launch) here(env, args []string) *process {
	cmd := exec.Command(l.Program, args...)
	cmd.Env = append(append(os.Environ(), env...), secretVariable+"="+string(l.Secret))
	return newProcess(cmd)
}

// there returns a rank of another machine.
func (l *Launch) there(host string, env, args []string) *process {
	p := newProcess(l.Remote.Command(context.Background(), host, rankScript(l.Dir, env, l.Program, args)))
	p.remote, p.first = true, string(l.Secret)+"\n"
	return p
}

func newProcess(cmd *exec.Cmd) *process {
	cmd.SysProcAttr = child()
	cmd.WaitDelay = time.Second // for what a rank may have started and left
	return &process{cmd: cmd}
}

// start starts the process.
func (p *process) start() error {
	if p.remote {
		var err error
		if p.stdin, err = p.cmd.StdinPipe(); err != nil {
			return err
		}
	}
	if err := p.cmd.Start(); err != nil {
		return err
	}
	if p.remote {
		_, _ = io.WriteString(p.stdin, p.first) // an ssh that is gone says why itself
	}
	return nil
}

// wait waits for its end. The error is nothing new where there is an exit code.
func (p *process) wait() error { return p.cmd.Wait() }

// signal sends it a signal. A shell starts a rank elsewhere with interrupts ignored, so it gets SIGTERM in place of those.
func (p *process) signal(s os.Signal) {
	if !p.remote {
		_ = p.cmd.Process.Signal(s) // it may have ended
		return
	}
	name := "TERM"
	if s == syscall.SIGKILL {
		name = "KILL"
	}
	_, _ = fmt.Fprintln(p.stdin, name)
	if s == syscall.SIGKILL { // also where the other machine does not answer any more
		time.AfterFunc(time.Second, func() { _ = p.cmd.Process.Kill() })
	}
}

// There reports whether there is a file where rank 0 runs.
func (l *Launch) There(ctx context.Context, path string) bool {
	if l.Hosts[0] == "" {
		return term.Exists(path)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	return l.Remote.Command(ctx, l.Hosts[0], "cd "+shell.Quoted(l.Dir)+" && test -e "+shell.Quoted(path)).Run() == nil
}
