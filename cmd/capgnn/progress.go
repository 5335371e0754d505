package main

import (
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"
)

// Units of progress; any other is the plural of what is counted.
const (
	unitShare = "%" // of a total that means nothing to the reader
	unitBytes = "B"
	// progressSteps is the total of phases that are a share.
	progressSteps = 1000
)

// progress shows how far one phase has come, at what rate, and how long the rest will take: a bar on a terminal, else about
// twenty lines. A phase belongs to the goroutine that started it.
type progress struct {
	k     *console
	title string
	total int64
	unit  string
	pause time.Duration // between lines, where there is no terminal
	shown int64         // the last twentieth that was printed
	since time.Time     // of the start, the last line or the last picture
	now   func() time.Time

	// What was done at the first call of at, and when: rates count from there on, as a phase may go on where another run ended.
	first int64
	start time.Time
	bar   *progressbar.ProgressBar // nil without a terminal
	table []string                 // above the bar
}

const (
	// lines is the largest number of lines a phase prints where there is no terminal.
	lines = 20
	// redraw is the shortest time between two pictures of a bar.
	redraw = 50 * time.Millisecond
	// settled is how long a phase runs before its rate says anything.
	settled = 100 * time.Millisecond
	// barColumns is the width of a bar where the terminal has room.
	barColumns = 24
)

// begin starts a phase of total steps of a unit. Without a terminal, lines are at least pause apart: phases that are over before
// that need none.
func (k *console) begin(title string, total int64, unit string, pause time.Duration) *progress {
	p := &progress{k: k, title: title, total: max(1, total), unit: unit, pause: pause, now: time.Now}
	p.since = p.now()
	if k.terminal && !k.quiet {
		k.mu.Lock()
		defer k.mu.Unlock()
		p.bar = k.newBar(p.total)
		p.draw("")
	}
	return p
}

// newBar returns a bar that is drawn into a string.
func (k *console) newBar(total int64) *progressbar.ProgressBar {
	columns, _ := k.size()
	theme := progressbar.Theme{Saucer: "=", SaucerHead: ">", SaucerPadding: " ", BarStart: "[", BarEnd: "]"}
	if k.colour {
		theme.Saucer, theme.SaucerHead = "[green]=[reset]", "[green]>[reset]"
	}
	bar := progressbar.NewOptions64(total, progressbar.OptionSetWriter(io.Discard), progressbar.OptionSetWidth(min(barColumns, columns/4)),
		progressbar.OptionSetElapsedTime(false), progressbar.OptionSetPredictTime(false), progressbar.OptionEnableColorCodes(k.colour),
		progressbar.OptionSetTheme(theme))
	_ = bar.RenderBlank() // into a string: nothing can go wrong
	return bar
}

// at says that done steps are behind us; detail stands beside them.
func (p *progress) at(done int64, detail string) {
	if p.k.quiet {
		return
	}
	now := p.now()
	if p.start.IsZero() || done < p.first {
		p.first, p.start = done, now
	}
	part := done * lines / p.total
	switch wait := now.Sub(p.since); {
	case p.bar == nil && (part <= p.shown || wait < p.pause), p.bar != nil && done < p.total && wait < redraw:
		return
	}
	p.shown, p.since = part, now
	text := pace(p.unit, done, p.total, done-p.first, now.Sub(p.start))
	if detail != "" {
		text += "  " + detail
	}
	if p.bar == nil {
		p.k.note("%s %s", p.title, text)
		return
	}
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	_ = p.bar.Set64(min(done, p.total))
	p.draw(text)
}

// draw shows the table and the bar with a text behind it. k.mu is held.
func (p *progress) draw(text string) {
	columns, rows := p.k.size()
	title, bar := cut(p.title, columns/3), strings.TrimRight(strings.TrimLeft(p.bar.String(), "\r"), " ")
	plain := utf8.RuneCountInString(colourCodes.ReplaceAllString(bar, ""))
	var picture []string
	for i, line := range p.table {
		if i < rows-2 {
			picture = append(picture, cut(line, columns-1))
		}
	}
	p.k.picture(append(picture, title+" "+bar+" "+cut(text, columns-plain-utf8.RuneCountInString(title)-3)))
}

// colourCodes are the sequences that colour a text.
var colourCodes = regexp.MustCompile("\x1b\\[[0-9;]*m")

// end removes the bar.
func (p *progress) end() {
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	if p.bar != nil {
		p.k.picture(nil)
		p.bar = nil
	}
}

// pace says how much of a total is done, and, from what was gained in a time, at what rate and how long the rest will take. Of a
// download the total may not be known: then it is 0.
func pace(unit string, done, total, gained int64, took time.Duration) string {
	amount, rate := func(x float64) string { return fmt.Sprintf("%.4g", x) }, 0.0
	text := fmt.Sprintf("%d/%d", done, total)
	switch unit {
	case unitShare:
		text = fmt.Sprintf("%.0f %%", 100*float64(done)/float64(max(1, total)))
	case unitBytes:
		amount = func(x float64) string { return byteSize(int64(x)) }
		if text = amount(float64(done)); total > 0 {
			text += " of " + amount(float64(total))
		}
	}
	if took < settled || gained <= 0 {
		return text
	}
	rate = float64(gained) / took.Seconds()
	switch unit {
	case unitShare:
	case unitBytes:
		text += fmt.Sprintf(", %s/s", amount(rate))
	default:
		text += fmt.Sprintf(", %.3g %s/s", rate, unit)
	}
	if left := float64(total-done) / rate; total > 0 && done < total && left < 1e6 {
		text += fmt.Sprintf(", %v left", time.Duration(left*float64(time.Second)).Round(time.Second))
	}
	return text
}
