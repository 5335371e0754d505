package ranks

import (
	"fmt"
	"os"
	"regexp"
	"syscall"

	"capgnn/cmd/capgnn/internal/term"
)

// faultPrefix begins the line with which a command of this program ends.
const faultPrefix = "capgnn: "

// Failed is the fault with which a run over several ranks ended.
type Failed struct {
	Rank int
	Host string
	Code int    // exit code for the launcher
	Line string // what the rank said
}

// saysWho begins the line of a fault that names its rank.
var saysWho = regexp.MustCompile(`^(interrupted: )?rank \d+ \(host `)

// Error names the rank at fault and what it said.
func (f *Failed) Error() string {
	if saysWho.MatchString(f.Line) {
		return f.Line
	}
	return fmt.Sprintf("rank %d (host %s): %s", f.Rank, f.Host, f.Line)
}

// ended is how a rank ended.
type ended struct {
	rank   int
	host   string
	code   int    // its exit code; -1: a signal ended it, or its connection was lost
	line   string // what it said last
	mute   bool   // it did not say why
	forced bool   // the launcher had told it to end, because another had failed or at the second interruption
}

// Exit codes of ssh and of shells that do not come from the program itself.
const (
	sshFailed  = 255 // also where the connection breaks, and where a signal ends what runs there
	shellKills = 128 // plus the number of the signal that ended a program
)

// endOf tells how a process ended. remote: it is an ssh.
func endOf(state *os.ProcessState, remote bool, said string) (code int, line string) {
	code = state.ExitCode()
	ws, ok := state.Sys().(syscall.WaitStatus)
	switch {
	case ok && ws.Signaled():
		return killed(ws.Signal())
	case remote && code == sshFailed:
		return -1, "the connection of ssh ended: " + said
	case remote && code > shellKills && code != term.ExitInterrupted:
		return killed(syscall.Signal(code - shellKills))
	case said == "" && code == term.ExitInterrupted:
		return code, "was interrupted"
	case said == "":
		return code, fmt.Sprintf("ended with exit code %d", code)
	}
	return code, said
}

// killed tells how a rank ended by a signal. Interruptions end it so before it listens to them.
func killed(s syscall.Signal) (code int, line string) {
	line = fmt.Sprintf("was ended by a signal (%v)", s)
	switch s {
	case syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP:
		return term.ExitInterrupted, line
	case syscall.SIGKILL:
		line = "was killed: if nobody did, its machine ran out of memory"
	}
	return -1, line
}

// verdict returns the fault of a run whose ranks ended in this order, nil if all did their work. The first rank that failed by itself
// counts. A rank that ended because another was lost (exit code 4) is an echo, but says best what happened: it counts before one that
// cannot say anything any more, and before those that were stopped then, of whom those count that say why. interrupted: the launcher passed a signal on, so that an
// interruption is what was wanted.
func verdict(list []ended, interrupted bool) *Failed {
	own := func(e ended) bool { return e.code > 0 && e.code != term.ExitLost && e.code != term.ExitInterrupted }
	lost := func(e ended) bool { return e.code == term.ExitLost }
	silent := func(e ended) bool { return e.code < 0 }
	stopped := func(e ended) bool { return e.code == term.ExitInterrupted }
	told := func(e ended) bool { return stopped(e) && !e.mute }
	order := []func(ended) bool{own, lost, silent, told, stopped}
	if interrupted {
		order = []func(ended) bool{own, told, stopped, lost, silent}
	}
	for _, forced := range []bool{false, true} {
		for _, counts := range order {
			for _, e := range list {
				if e.forced == forced && counts(e) {
					return e.failed(interrupted)
				}
			}
		}
	}
	return nil
}

// failed makes the fault of a rank that of the run.
func (e ended) failed(interrupted bool) *Failed {
	f := &Failed{Rank: e.rank, Host: e.host, Code: e.code, Line: e.line}
	switch {
	case e.code >= 0:
	case e.forced && interrupted:
		f.Code, f.Line = term.ExitInterrupted, "was killed at the second interruption"
	default:
		f.Code = term.ExitLost
	}
	return f
}
