package ranks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"time"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/shell"
)

// answerTime is how long a machine may take to say which program it has.
const answerTime = 30 * time.Second

// Exit codes of a shell that found no program, or none that it may run.
const (
	notRunnable = 126
	notFound    = 127
)

// CheckPrograms reports the machines on which the program is not there or is another one than here, all at once.
func (l *Launch) CheckPrograms(ctx context.Context, here term.BuildInfo) error {
	hosts := slices.Compact(slices.Sorted(slices.Values(l.Hosts)))
	faults := make([]error, len(hosts))
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var all sync.WaitGroup
	for i, host := range hosts {
		if host != "" {
			all.Go(func() { faults[i] = l.checkProgram(ctx, host, here) })
		}
	}
	all.Wait()
	if i := slices.IndexFunc(faults, func(err error) bool { return errors.Is(err, exec.ErrNotFound) }); i >= 0 {
		return term.AsUsage(faults[i]) // of all alike
	}
	return term.AsUsage(errors.Join(faults...))
}

// checkProgram asks one machine.
func (l *Launch) checkProgram(ctx context.Context, host string, here term.BuildInfo) error {
	cmd := l.Remote.Command(ctx, host, shell.Quoted(l.Program)+" version --json")
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	copyIt := fmt.Sprintf("copy this program there: scp %s %s:%s", l.Program, host, l.Program)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("ask host %s for its program: no answer within %v: try `ssh %s true`", host, answerTime, host)
	case errors.As(err, &exit) && (exit.ExitCode() == notFound || exit.ExitCode() == notRunnable):
		return fmt.Errorf("ask host %s for its program: %s is not there: %s", host, l.Program, copyIt)
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("start ranks on other machines: %w: install it (Debian: apt-get install openssh-client), or start each rank with --ranks N,rank=R,master=HOST", err)
	case err != nil:
		return fmt.Errorf("ask host %s for its program: %s (%w): make `ssh %s true` work without a question", host, lastLine(stderr.String()), err, host)
	}
	var there term.BuildInfo
	if err := json.Unmarshal(out, &there); err != nil {
		return fmt.Errorf("ask host %s for its program: %s is no capgnn: %s", host, l.Program, copyIt)
	}
	if sameSource(there) != sameSource(here) {
		return fmt.Errorf("ask host %s for its program: it has %v, and here is %v: %s", host, there, here, copyIt)
	}
	return nil
}

// sameSource leaves out of a build what may differ between machines: what it was compiled for.
func sameSource(b term.BuildInfo) term.BuildInfo {
	b.OS, b.Arch, b.Cgo = "", "", false
	return b
}

// lastLine returns the last line of a text that is not empty.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
}
