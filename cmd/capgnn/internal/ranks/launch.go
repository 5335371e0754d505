package ranks

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"sync"
	"syscall"
	"time"

	"capgnn/cluster"
	"capgnn/cmd/capgnn/internal/term"
)

// Launch starts the ranks of a run and waits for them.
type Launch struct {
	Program string   // path of this program, the same on all machines
	Args    []string // of every rank
	Hosts   []string // the machine of each rank, "" = this one; either all or none are this one
	Dir     string   // working folder on other machines
	Port    int      // where rank 0 listens; 0: one that is free here, cluster.DefaultPort on another machine
	Secret  []byte   // with which the ranks join

	MaxRestarts int                          // how often a run that lost a rank is started again
	Again       func(args []string) []string // the arguments of that start; nil: the same

	Patience time.Duration    // how long the others may go on after a rank has failed; 0: 10 s
	Remote   Remote           // how programs are run on other machines
	Out, Err io.Writer        // where lines of ranks go
	Result   io.Writer        // where the standard output of rank 0 goes as it is; nil: to Out, like that of the others. Run does not return its errors
	Signals  <-chan os.Signal // interruptions; nil: none
}

const (
	patience = 10 * time.Second // more than a rank needs to notice that another one is gone
	mercy    = 5 * time.Second  // between asking a rank to end and killing it
)

// Run starts the ranks and returns when all have ended: nil if all did their work, else a *Failed. A run that lost a rank is started
// again up to MaxRestarts times; what was interrupted, used wrongly or does not fit is not.
func (l *Launch) Run() error {
	args := l.Args
	for start := 0; ; start++ {
		interrupted, err := l.once(args)
		var f *Failed
		if interrupted || !errors.As(err, &f) || f.Code != term.ExitLost || start >= l.MaxRestarts {
			return err
		}
		fmt.Fprintf(l.Err, "%s; restart %d of %d\n", term.OneLine(f), start+1, l.MaxRestarts)
		if l.Again != nil {
			args = l.Again(l.Args)
		}
	}
}

// rank is one process of a launch.
type rank struct {
	*process
	number   int
	host     string // as lines name it
	out, err *lines
}

// once starts all ranks once. interrupted: a signal ended that.
func (l *Launch) once(args []string) (interrupted bool, err error) {
	master, port := l.Hosts[0], l.Port
	if master == "" {
		master = "127.0.0.1"
	}
	switch {
	case port == 0 && l.Hosts[0] == "":
		if port, err = freePort(); err != nil {
			return false, err
		}
	case port == 0:
		port = cluster.DefaultPort
	}
	if _, err := cluster.Address(master, strconv.Itoa(port)); err != nil {
		return false, term.AsUsage(named("start rank 0", err))
	}
	var turn sync.Mutex
	var ranks []*rank
	for number, env := range places(l.Hosts, master, port) {
		r := &rank{number: number, host: l.Hosts[number]}
		if r.host == "" {
			r.process, r.host = l.here(env, args), thisHost()
		} else {
			r.process = l.there(r.host, env, args)
		}
		prefix := fmt.Sprintf("[%d %s] ", number, r.host)
		r.out, r.err = &lines{to: l.Out, turn: &turn, prefix: prefix}, &lines{to: l.Err, turn: &turn, prefix: prefix}
		r.cmd.Stdout, r.cmd.Stderr = r.out, r.err
		if number == 0 && l.Result != nil {
			r.cmd.Stdout = unfailing{l.Result}
		}
		ranks = append(ranks, r)
	}
	w := &watch{Launch: l, ranks: ranks, running: map[int]*rank{}, ends: make(chan ended)}
	err = w.run()
	return w.interrupted, err
}

// watch is the ranks of one start while they run.
type watch struct {
	*Launch
	ranks       []*rank
	running     map[int]*rank
	ends        chan ended
	list        []ended // in the order of ending
	interrupted bool    // the first signal was passed on
	asked       bool    // those that run were told to end: another rank had failed, or a second signal came
	late        <-chan time.Time
}

// run starts the processes and waits until all have ended. On Linux they die with the thread that started them, so that thread stays
// here until then.
func (w *watch) run() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var broken error
	for _, r := range w.ranks {
		if err := r.start(); err != nil {
			broken = fmt.Errorf("start rank %d on host %s: %w", r.number, r.host, err)
			break
		}
		w.running[r.number] = r
		go func() { w.ends <- r.wait() }() // ends with the process; the loop below takes every end
	}
	if broken != nil {
		w.tell(syscall.SIGKILL)
	}
	for len(w.running) > 0 {
		select {
		case e := <-w.ends:
			w.end(e)
		case s := <-w.Signals:
			w.signal(s)
		case <-w.late:
			w.hurry()
		}
	}
	if broken != nil {
		return broken
	}
	if f := verdict(w.list, w.interrupted); f != nil {
		return f
	}
	return nil
}

// end notes how a rank ended. After the first that failed the others have a while to say what they saw. One that was interrupted has not
// failed: others may need longer for a checkpoint.
func (w *watch) end(e ended) {
	delete(w.running, e.rank)
	e.forced = w.asked
	w.list = append(w.list, e)
	if e.code != 0 && w.late == nil && !(w.interrupted && e.code == term.ExitInterrupted) {
		w.late = time.After(w.patience())
	}
}

func (w *watch) patience() time.Duration {
	if w.Patience > 0 {
		return w.Patience
	}
	return patience
}

// signal passes the first signal on, and kills at the second, unless the shell and its terminal both say that they are gone.
func (w *watch) signal(s os.Signal) {
	if w.interrupted && s == syscall.SIGHUP {
		return
	}
	if w.interrupted {
		w.asked = true
		w.tell(syscall.SIGKILL)
		return
	}
	w.interrupted = true
	w.tell(s)
}

// hurry ends ranks that did not notice that another failed: first it asks them.
func (w *watch) hurry() {
	if w.asked {
		w.tell(syscall.SIGKILL)
		return
	}
	w.asked, w.late = true, time.After(min(mercy, w.patience()))
	w.tell(syscall.SIGTERM)
}

// tell sends a signal to all ranks that run.
func (w *watch) tell(s os.Signal) {
	for _, r := range w.running {
		r.signal(s)
	}
}

// wait returns how the rank ended, after its last line.
func (r *rank) wait() ended {
	err := r.process.wait()
	r.out.end()
	r.err.end()
	e := ended{rank: r.number, host: r.host, mute: r.err.fault == ""}
	if r.cmd.ProcessState == nil { // nobody can say how it ended
		e.code, e.line = -1, err.Error()
		return e
	}
	e.code, e.line = endOf(r.cmd.ProcessState, r.remote, r.err.said())
	return e
}
