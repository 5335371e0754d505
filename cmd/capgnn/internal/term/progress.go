package term

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/schollz/progressbar/v3"

	"capgnn/internal/number"
)

// Units of progress; any other is the plural of what is counted.
const (
	UnitShare = "%" // of a total that means nothing to the reader
	UnitBytes = "B"
	// ProgressSteps is the total of phases that are a share.
	ProgressSteps = 1000
)

// Progress shows how far one phase has come, at what rate, and how long the rest will take: a bar on a terminal, else about
// twenty lines. A phase belongs to the goroutine that started it.
type Progress struct {
	k     *Console
	title string
	total int64
	unit  string
	pause time.Duration // between lines, where there is no terminal
	shown int64         // the last twentieth that was printed
	since time.Time     // of the start, the last line or the last picture
	now   func() time.Time

	// first is what was done at the first call of at, at start: rates count from there on, as a phase may go on where another
	// run ended.
	first, last int64 // last: at the last call
	start       time.Time
	bar         *progressbar.ProgressBar // nil without a terminal
	Table       []string                 // above the bar

	approach *approach            // that this phase is a round of; nil: it has a bar of its own
	left     func() time.Duration // how long the rest will take; nil: as what was done has taken
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

// Begin starts a phase of total steps of a unit. Without a terminal, lines are at least pause apart: phases that are over before
// that need none.
func (k *Console) Begin(title string, total int64, unit string, pause time.Duration) *Progress {
	if k.approach != nil {
		return k.approach.phase(title, total)
	}
	p := &Progress{k: k, title: title, total: max(1, total), unit: unit, pause: pause, now: time.Now}
	p.since = p.now()
	if k.Terminal && !k.Quiet {
		k.mu.Lock()
		defer k.mu.Unlock()
		p.bar = k.newBar(p.total)
		p.draw("", "", "")
	}
	return p
}

// newBar returns a bar that is drawn into a string.
func (k *Console) newBar(total int64) *progressbar.ProgressBar {
	columns, _ := k.size()
	bar := progressbar.NewOptions64(total, progressbar.OptionSetWriter(io.Discard), progressbar.OptionSetWidth(min(barColumns, columns/4)),
		progressbar.OptionSetElapsedTime(false), progressbar.OptionSetPredictTime(false), progressbar.OptionEnableColorCodes(false),
		progressbar.OptionSetTheme(progressbar.Theme{Saucer: "=", SaucerHead: ">", SaucerPadding: " ", BarStart: "[", BarEnd: "]"}))
	_ = bar.RenderBlank() // into a string: nothing can go wrong
	return bar
}

// At says that done steps are behind us; detail stands beside them.
func (p *Progress) At(done int64, detail string) {
	if p.k.Quiet {
		return
	}
	if p.approach != nil {
		p.approach.within(min(1, float64(done)/float64(p.total)), Sentence(p.title, " ", detail))
		return
	}
	now := p.now()
	if p.start.IsZero() || done < p.last {
		p.again(done, now)
	}
	p.last = done
	part := done * lines / p.total
	switch wait := now.Sub(p.since); {
	case p.bar == nil && (part <= p.shown || wait < p.pause), p.bar != nil && done < p.total && wait < redraw:
		return
	}
	p.shown, p.since = part, now
	where, rest := Pace(p.unit, done, p.total, done-p.first, now.Sub(p.start))
	if p.left != nil {
		rest = leftText(p.left())
	}
	if p.bar != nil && p.unit == UnitShare {
		where = "" // stands beside the bar
	}
	if p.bar == nil {
		p.k.Note("%s %s", p.title, Sentence(Sentence(where, ", ", rest), "  ", detail))
		return
	}
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	_ = p.bar.Set64(min(done, p.total))
	p.draw(where, rest, detail)
}

// again begins to count: where a phase begins, and where it turns out to have another part.
func (p *Progress) again(done int64, now time.Time) {
	p.first, p.start, p.shown = done, now, min(p.shown, done*lines/p.total)
	if p.bar != nil {
		p.bar = p.k.newBar(p.total)
	}
}

// Sentence joins two texts, of which either may be empty.
func Sentence(a, between, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + between + b
}

// spare is how many columns at the right stay empty: the terminal writes ^C there, which must not begin another line.
const spare = 3

// draw shows the table, and below it the bar with how far the phase is, how long the rest will take, and what is to be said
// of it. Where a line is too narrow for all of them, the bar becomes short, then the rate goes, then the bar, then how far
// it is: what stands at the end, such as a loss, goes last. k.mu is held.
func (p *Progress) draw(where, rest, detail string) {
	columns, rows := p.k.size()
	columns -= spare
	title, bar := Cut(p.title, columns/3), strings.TrimSpace(p.bar.String())
	_, left, timed := strings.Cut(rest, ", ") // behind the rate, if there is one
	if !timed {
		left = rest
	}
	share, _, _ := strings.Cut(bar, " [")
	var text string
	for _, try := range []struct{ bar, text string }{
		{bar, Sentence(Sentence(where, ", ", rest), "  ", detail)},
		{shorter(bar), Sentence(Sentence(where, ", ", rest), "  ", detail)},
		{shorter(bar), Sentence(Sentence(where, ", ", left), "  ", detail)},
		{share, Sentence(Sentence(where, ", ", left), "  ", detail)},
		{share, Sentence(left, "  ", detail)},
		{share, detail},
	} {
		bar, text = try.bar, try.text
		if utf8.RuneCountInString(title)+utf8.RuneCountInString(bar)+utf8.RuneCountInString(text)+2 <= columns {
			break
		}
	}
	text = Cut(text, columns-utf8.RuneCountInString(bar)-utf8.RuneCountInString(title)-2)
	if open := strings.Index(bar, "["); p.k.colour && open >= 0 {
		full := open + 1 + len(bar[open+1:]) - len(strings.TrimLeft(bar[open+1:], "=>"))
		bar = bar[:open+1] + "\x1b[32m" + bar[open+1:full] + "\x1b[0m" + bar[full:]
	}
	var picture []string
	for i, line := range p.Table {
		if i < rows-2 {
			picture = append(picture, Cut(line, columns))
		}
	}
	p.k.picture(append(picture, title+" "+bar+" "+text))
}

// shortBar is the width of a bar where there is little room.
const shortBar = 8

// shorter returns a bar of shortBar columns that is as full, rounded down.
func shorter(bar string) string {
	share, inside, found := strings.Cut(bar, "[")
	inside, _, closed := strings.Cut(inside, "]")
	if !found || !closed || len(inside) <= shortBar {
		return bar
	}
	full := len(inside) - len(strings.TrimLeft(inside, "=>"))
	return share + "[" + strings.Repeat("=", full*shortBar/len(inside)) + strings.Repeat(" ", shortBar-full*shortBar/len(inside)) + "]"
}

// End removes the bar.
func (p *Progress) End() {
	if p.approach != nil {
		p.approach.passed()
		p.approach = nil
		return
	}
	p.k.mu.Lock()
	defer p.k.mu.Unlock()
	if p.bar != nil {
		p.k.picture(nil)
		p.bar = nil
	}
}

// Pace says how much of a total is done, and, from what was gained in a time, at what rate and how long the rest will take. Of a
// download the total may not be known: then it is 0.
func Pace(unit string, done, total, gained int64, took time.Duration) (where, rest string) {
	rate := float64(gained) / took.Seconds()
	speed := number.Rate(rate, unit)
	switch unit {
	case UnitShare:
		where, speed = Percentage(float64(done)/float64(max(1, total))), ""
	case UnitBytes:
		where, speed = Size(done), Size(int64(rate))+"/s"
		if total > 0 {
			where += " of " + Size(total)
		}
	default:
		where = fmt.Sprintf("%d/%d", done, total)
	}
	if took < settled || gained <= 0 {
		return where, ""
	}
	if left := float64(total-done) / rate; total > 0 && done < total && left < 1e6 {
		return where, Sentence(speed, ", ", number.Coarse(time.Duration(left*float64(time.Second)))+" left")
	}
	return where, speed
}

// LinePause is the shortest time between two lines of progress where there is no terminal.
const LinePause = 2 * time.Second
