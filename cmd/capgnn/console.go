package main

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

// console is where a command prints: results on out, progress and notes on err.
type console struct {
	out, err io.Writer
	json     bool // the result is one JSON object
	quiet    bool // no progress, no notes
	terminal bool // err is a terminal: a live picture in place of lines
	colour   bool
	approach *approach // to the first epoch, while one is under way

	interruption atomic.Pointer[string] // what an interruption in the middle of something leaves; nil: nothing

	mu   sync.Mutex // held while anything is written to err: signals and workers' logs come from other goroutines
	live []string   // the lines at the bottom of the terminal, which the next picture replaces; none holds a line break
}

func newConsole(c *cli.Context) *console {
	k := &console{out: c.App.Writer, err: c.App.ErrWriter, json: c.Bool("json"), quiet: c.Bool("quiet")}
	if f, ok := k.err.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		k.terminal = os.Getenv("TERM") != "dumb"
		k.colour = k.terminal && os.Getenv("NO_COLOR") == ""
	}
	return k
}

// keepStdoutFor sends what the command prints to standard error if path is standard output, so that the file written there stays whole.
func (k *console) keepStdoutFor(path string) {
	if atomicfile.IsStream(path) {
		k.out = k.err
	}
}

// note prints one line about what is going on, above what is live, unless --quiet.
func (k *console) note(format string, a ...any) {
	if k.quiet {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	live := k.live
	k.picture(nil)
	fmt.Fprintln(k.err, escaped(fmt.Sprintf(format, a...)))
	k.picture(live)
}

// onInterrupt sets the text that an interruption in the middle of a step prints from now on: what is left, and how to go on.
func (k *console) onInterrupt(text string) { k.interruption.Store(&text) }

func (k *console) interruptText() string {
	if text := k.interruption.Load(); text != nil {
		return *text
	}
	return "nothing was written"
}

// leave removes what is live from the terminal, for good: the process ends, and a prompt takes its place.
func (k *console) leave() {
	k.mu.Lock() // and keeps it: nothing is drawn any more
	k.picture(nil)
}

// picture replaces the live lines of a terminal in one write. k.mu is held. A terminal that takes no more is no reason to stop
// the work that it shows, so errors are left.
func (k *console) picture(lines []string) {
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
	fmt.Fprint(k.err, text)
	k.live = lines
}

// Size of a terminal that does not tell its own, in characters.
const (
	usualColumns = 80
	usualRows    = 24
)

// size returns the columns and rows of the terminal.
func (k *console) size() (columns, rows int) {
	if f, ok := k.err.(*os.File); ok {
		columns, rows, _ = term.GetSize(int(f.Fd()))
	}
	if columns <= 0 || rows <= 0 {
		return usualColumns, usualRows
	}
	return columns, rows
}

// cut shortens a line to so many characters.
func cut(line string, columns int) string {
	r := []rune(line)
	if len(r) <= columns {
		return line
	}
	if columns < 1 {
		return ""
	}
	return string(r[:columns-1]) + "…"
}
