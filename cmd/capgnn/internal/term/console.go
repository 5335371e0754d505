package term

import (
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"github.com/urfave/cli/v2"
	"golang.org/x/term"

	"capgnn/internal/atomicfile"
)

// Console is where a command prints: results on Out, progress and notes on Err.
type Console struct {
	Out, Err io.Writer
	JSON     bool // the result is one JSON object
	Quiet    bool // no progress, no notes
	Terminal bool // Err is a terminal: a live picture in place of lines
	colour   bool
	approach *approach    // to the first epoch, while one is under way
	context  *cli.Context // of the command; nil: none

	interruption atomic.Pointer[func() string] // what an interruption in the middle of something leaves; nil: nothing
	stop         atomic.Pointer[string]        // when what is under way stops; nil: as Interruptible was told

	mu   sync.Mutex // held while anything is written to err: signals and workers' logs come from other goroutines
	live []string   // the lines at the bottom of the terminal, which the next picture replaces; none holds a line break
}

// NewConsole returns the console of a command, as its flags --json and --quiet say.
func NewConsole(c *cli.Context) *Console {
	k := &Console{Out: c.App.Writer, Err: c.App.ErrWriter, JSON: c.Bool("json"), Quiet: c.Bool("quiet"), context: c}
	if f, ok := k.Err.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		k.Terminal = os.Getenv("TERM") != "dumb"
		k.colour = k.Terminal && os.Getenv("NO_COLOR") == ""
	}
	return k
}

// KeepStdoutFor sends what the command prints to standard error if path is standard output, so that the file written there stays whole.
func (k *Console) KeepStdoutFor(path string) {
	if atomicfile.IsStream(path) {
		k.Out = k.Err
	}
}

// Note prints one line about what is going on, above what is live, unless --quiet.
func (k *Console) Note(format string, a ...any) {
	if k.Quiet {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	live := k.live
	k.picture(nil)
	fmt.Fprintln(k.Err, Escaped(OtherFlags(k.context, fmt.Sprintf(format, a...))))
	k.picture(live)
}

// OnInterrupt sets the text that an interruption in the middle of a step prints from now on: what is left, and how to go on.
// What it returns sets the text of before.
func (k *Console) OnInterrupt(text string) (restore func()) {
	said := func() string { return text }
	before := k.interruption.Swap(&said)
	return func() { k.interruption.Store(before) }
}

// OnInterruptSay is OnInterrupt for a text that is known only then.
func (k *Console) OnInterruptSay(text func() string) { k.interruption.Store(&text) }

// OnStop sets when what is under way stops after an interruption from now on, such as "after this step".
func (k *Console) OnStop(when string) { k.stop.Store(&when) }

func (k *Console) stopText(when string) string {
	if text := k.stop.Load(); text != nil {
		return *text
	}
	return when
}

func (k *Console) interruptText() string {
	if text := k.interruption.Load(); text != nil {
		return (*text)()
	}
	return "nothing was written"
}

// leave removes what is live from the terminal, for good: the process ends, and a prompt takes its place.
func (k *Console) leave() {
	k.mu.Lock() // and keeps it: nothing is drawn any more
	k.picture(nil)
}

// picture replaces the live lines of a terminal in one write. k.mu is held. A terminal that takes no more is no reason to stop
// the work that it shows, so errors are left.
func (k *Console) picture(lines []string) {
	if len(k.live) == 0 && len(lines) == 0 {
		return
	}
	text := "\r"
	if n := len(k.live); n > 1 {
		text = fmt.Sprintf("\r\x1b[%dA", n-1)
	}
	for i, line := range lines {
		if i > 0 {
			text += "\r\n"
		}
		text += line + "\x1b[K"
	}
	if len(lines) < len(k.live) {
		if len(lines) > 0 {
			text += "\r\n"
		}
		text += "\x1b[J"
		if len(lines) > 0 {
			text += "\x1b[1A"
		}
	}
	fmt.Fprint(k.Err, text)
	k.live = lines
}

// Size of a terminal that does not tell its own, in characters.
const (
	usualColumns = 80
	usualRows    = 24
)

// size returns the columns and rows of the terminal.
func (k *Console) size() (columns, rows int) {
	if f, ok := k.Err.(*os.File); ok {
		columns, rows, _ = term.GetSize(int(f.Fd()))
	}
	if columns <= 0 || rows <= 0 {
		return usualColumns, usualRows
	}
	return columns, rows
}

// Cut shortens a line to so many characters.
func Cut(line string, columns int) string {
	r := []rune(line)
	if len(r) <= columns {
		return line
	}
	if columns < 1 {
		return ""
	}
	return string(r[:columns-1]) + "…"
}
