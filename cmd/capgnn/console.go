package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/urfave/cli/v2"
	"golang.org/x/term"
)

// console is where a command prints: results on out, progress and notes on err.
type console struct {
	out, err io.Writer
	json     bool // the result is one JSON object
	quiet    bool // no progress, no notes
	terminal bool // err is a terminal: progress bars in place of lines
	colour   bool

	mu  sync.Mutex // held while anything is written to err: signals and workers' logs come from other goroutines
	bar *progressbar.ProgressBar
}

func newConsole(c *cli.Context) *console {
	k := &console{out: c.App.Writer, err: c.App.ErrWriter, json: c.Bool("json"), quiet: c.Bool("quiet")}
	if f, ok := k.err.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		k.terminal = os.Getenv("TERM") != "dumb"
		k.colour = k.terminal && os.Getenv("NO_COLOR") == ""
	}
	return k
}

// note prints one line about what is going on, unless --quiet.
func (k *console) note(format string, a ...any) {
	if k.quiet {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.bar != nil {
		// A bar that cannot be drawn or cleared is no reason to stop the work it shows.
		_ = k.bar.Clear()
	}
	fmt.Fprintf(k.err, format+"\n", a...)
}

// progress shows how far one phase has come: a bar on a terminal, else about twenty lines. A phase belongs to the
// goroutine that started it.
type progress struct {
	k     *console
	title string
	total int
	pause time.Duration // between lines, where there is no terminal
	shown int           // the last twentieth that was printed
	since time.Time     // of the start or the last line
}

// lines is the largest number of lines a phase prints where there is no terminal.
const lines = 20

// redraw is the shortest time between two pictures of a bar.
const redraw = 50 * time.Millisecond

// begin starts a phase of total steps. Without a terminal, lines are at least pause apart: phases that are over before
// that need none.
func (k *console) begin(title string, total int, pause time.Duration) *progress {
	p := &progress{k: k, title: title, total: max(1, total), pause: pause, since: time.Now()}
	if k.terminal && !k.quiet {
		opts := []progressbar.Option{
			progressbar.OptionSetWriter(k.err), progressbar.OptionShowCount(), progressbar.OptionSetPredictTime(true),
			progressbar.OptionSetWidth(24), progressbar.OptionClearOnFinish(), progressbar.OptionEnableColorCodes(k.colour),
			progressbar.OptionSetRenderBlankState(true),
		}
		if k.colour {
			opts = append(opts, progressbar.OptionSetTheme(progressbar.Theme{
				Saucer: "[green]=[reset]", SaucerHead: "[green]>[reset]", SaucerPadding: " ", BarStart: "[", BarEnd: "]"}))
		}
		k.mu.Lock()
		k.bar = progressbar.NewOptions(p.total, opts...)
		k.bar.Describe(title)
		k.mu.Unlock()
	}
	return p
}

// at says that done steps are behind us; detail is shown beside the bar.
func (p *progress) at(done int, detail string) {
	if p.k.quiet {
		return
	}
	if p.k.terminal {
		p.k.mu.Lock()
		defer p.k.mu.Unlock()
		if p.k.bar != nil && (done >= p.total || time.Since(p.since) >= redraw) {
			p.since = time.Now()
			p.k.bar.Describe(p.title + "  " + detail)
			_ = p.k.bar.Set(min(done, p.total))
		}
		return
	}
	if part := done * lines / p.total; part > p.shown && time.Since(p.since) >= p.pause {
		p.shown, p.since = part, time.Now()
		p.k.note("%s %d/%d  %s", p.title, done, p.total, detail)
	}
}

// end removes the bar.
func (p *progress) end() {
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	if p.k.bar != nil {
		_ = p.k.bar.Exit()
		_ = p.k.bar.Clear()
		p.k.bar = nil
	}
}
