package term

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"capgnn/cmd/capgnn/internal/cmdtest"
)

// A bar below a table that grows and shrinks, notes between its pictures: at the end only the notes are left, in order.
func TestConsoleOnATerminal(t *testing.T) {
	tty := cmdtest.OpenTerminal(t, 50, 12)
	k := &Console{Out: io.Discard, Err: tty.File, Terminal: true}
	p := k.Begin("a title that is longer than a third of the line", 40, "epochs", 0)
	now := time.Now()
	p.now = func() time.Time { return now }
	for i := range int64(40) {
		p.Table = nil
		for row := range i % 20 {
			p.Table = append(p.Table, fmt.Sprintf("row %d %s", row, strings.Repeat("x", int(i)*3)))
		}
		now = now.Add(time.Second)
		p.At(i+1, strings.Repeat("on and ", int(i%8)))
		if i%10 == 0 {
			k.Note("note %d", i)
		}
	}
	p.End()
	tallest, bars := 0, 0
	s := cmdtest.Screen{Columns: 50, Seen: func(lines []string) {
		tallest = max(tallest, len(lines))
		if strings.Contains(lines[len(lines)-1], "%") && strings.Contains(lines[len(lines)-1], "[") {
			bars++
		}
	}}
	text := tty.Finish(t)
	s.Show(t, text)
	if got, want := strings.TrimRight(strings.Join(s.Lines, "\n"), "\n "), "note 0\nnote 10\nnote 20\nnote 30"; got != want {
		t.Errorf("left %q, want %q", got, want)
	}
	if tallest < 12 || tallest > 12+4 || bars == 0 {
		t.Errorf("at most %d lines with %d bars", tallest, bars)
	}
	if strings.Contains(text, "\x1b[32m") {
		t.Error("colours although they are off")
	}
}

// However narrow the terminal, the loss and the score stay, no line reaches its end, and what goes, goes in the order of its use.
func TestBarAtEveryWidth(t *testing.T) {
	const detail = "loss 0.1234  val 0.8123  81.0 ms"
	for columns, want := range map[int][]string{
		200: {"train 37% [=======", "74/200, 12.3 epochs/s, 10 s left", detail},
		80:  {"train 37% ", "74/200, 10 s left", detail},
		60:  {"train 37% ", "10 s left", detail},
		45:  {"train 37%", "loss 0.1234  val 0.8123"},
		36:  {"train 37%", "loss 0.1234"},
	} {
		tty := cmdtest.OpenTerminal(t, columns, 12)
		k := &Console{Out: io.Discard, Err: tty.File, Terminal: true}
		p := k.Begin("train", 200, "epochs", 0)
		_ = p.bar.Set64(74)
		p.draw("74/200", "12.3 epochs/s, 10 s left", detail)
		line := k.live[len(k.live)-1]
		for _, part := range want {
			if !strings.Contains(line, part) {
				t.Errorf("%d columns: %q does not say %q", columns, line, part)
			}
		}
		if n := utf8.RuneCountInString(line); n > columns-2 {
			t.Errorf("%d columns: a line of %d leaves no room for ^C", columns, n)
		}
		p.End()
		tty.Finish(t)
	}
	if got := shorter(" 50% [============            ]"); got != " 50% [====    ]" {
		t.Errorf("half a bar is %q", got)
	}
}
