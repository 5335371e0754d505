package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"
)

// pseudoTerminal is a terminal whose other side the test holds. It reads along, so that nobody waits for it.
type pseudoTerminal struct {
	*os.File // the side that programs write to
	master   *os.File
	text     chan string // all that was written, once both sides are closed
}

func openTerminal(t *testing.T, columns, rows int) *pseudoTerminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals here: %v", err)
	}
	t.Cleanup(func() { master.Close() })
	fd := int(master.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(columns)})
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("there are no pseudo-terminals here: %v", err)
	}
	p := &pseudoTerminal{File: slave, master: master, text: make(chan string, 1)}
	// Ends when no program holds the other side any more; finish waits for it.
	go func() {
		all, _ := io.ReadAll(master) // ends with an error where the other side is closed
		p.text <- string(all)
	}()
	return p
}

// finish closes the side that programs write to and returns what they wrote.
func (p *pseudoTerminal) finish(t *testing.T) string {
	t.Helper()
	p.Close()
	select {
	case text := <-p.text:
		return text
	case <-time.After(time.Minute):
		t.Fatal("somebody still holds the terminal")
		return ""
	}
}

// screen is what a terminal shows: it knows the few sequences that the console uses and takes no others.
type screen struct {
	lines    []string
	row, col int
	columns  int
	seen     func([]string) // called with the lines whenever a line is complete
}

func (s *screen) show(t *testing.T, text string) {
	t.Helper()
	s.lines = append(s.lines, "")
	for len(text) > 0 {
		if strings.HasPrefix(text, "\x1b[") {
			end := strings.IndexFunc(text[2:], func(r rune) bool { return r >= '@' })
			if end < 0 {
				t.Fatalf("an escape sequence without an end: %q", text)
			}
			s.escape(t, text[2:2+end], text[2+end])
			text = text[3+end:]
			continue
		}
		r := []rune(text[:min(4, len(text))])[0]
		text = text[len(string(r)):]
		switch r {
		case '\r':
			s.col = 0
		case '\n':
			if s.row++; s.row == len(s.lines) {
				s.lines = append(s.lines, "")
			}
			if s.seen != nil {
				s.seen(s.lines)
			}
		default:
			line := []rune(s.lines[s.row])
			for len(line) <= s.col {
				line = append(line, ' ')
			}
			line[s.col] = r
			s.lines[s.row] = string(line)
			if s.col++; s.col > s.columns {
				t.Fatalf("wider than the terminal: %q", s.lines[s.row])
			}
		}
	}
}

// escape does what a sequence says.
func (s *screen) escape(t *testing.T, args string, command byte) {
	t.Helper()
	n := 1
	if args != "" {
		n, _ = strconv.Atoi(args)
	}
	switch command {
	case 'm':
	case 'A':
		if s.row -= n; s.row < 0 {
			t.Fatal("the cursor went above the first line")
		}
	case 'K', 'J':
		s.lines[s.row] = string([]rune(s.lines[s.row])[:min(s.col, len([]rune(s.lines[s.row])))])
		if command == 'J' {
			s.lines = s.lines[:s.row+1]
		}
	default:
		t.Fatalf("escape sequence %s%c", args, command)
	}
}

// A bar below a table that grows and shrinks, notes between its pictures: at the end only the notes are left, in order.
func TestConsoleOnATerminal(t *testing.T) {
	tty := openTerminal(t, 50, 12)
	k := &console{out: io.Discard, err: tty.File, terminal: true}
	p := k.begin("a title that is longer than a third of the line", 40, "epochs", 0)
	now := time.Now()
	p.now = func() time.Time { return now }
	for i := range int64(40) {
		p.table = nil
		for row := range i % 20 {
			p.table = append(p.table, fmt.Sprintf("row %d %s", row, strings.Repeat("x", int(i)*3)))
		}
		now = now.Add(time.Second)
		p.at(i+1, strings.Repeat("on and ", int(i%8)))
		if i%10 == 0 {
			k.note("note %d", i)
		}
	}
	p.end()
	tallest, bars := 0, 0
	s := screen{columns: 50, seen: func(lines []string) {
		tallest = max(tallest, len(lines))
		if strings.Contains(lines[len(lines)-1], "%") && strings.Contains(lines[len(lines)-1], "[") {
			bars++
		}
	}}
	text := tty.finish(t)
	s.show(t, text)
	if got, want := strings.TrimRight(strings.Join(s.lines, "\n"), "\n "), "note 0\nnote 10\nnote 20\nnote 30"; got != want {
		t.Errorf("left %q, want %q", got, want)
	}
	if tallest < 12 || tallest > 12+4 || bars == 0 {
		t.Errorf("at most %d lines with %d bars", tallest, bars)
	}
	if strings.Contains(text, "\x1b[32m") {
		t.Error("colours although they are off")
	}
}

// train on a terminal shows the devices while it runs, with colours or without, and leaves its notes; a dumb terminal gets lines.
func TestTrainOnATerminal(t *testing.T) {
	for _, c := range []struct {
		env            string
		table, colours bool
	}{{"TERM=xterm", true, true}, {"NO_COLOR=1", true, false}, {"TERM=dumb", false, false}} {
		s := newSandbox(t)
		tty := openTerminal(t, 100, 30)
		cmd := s.command("train", "--dataset", newStore().write(s, "ring.npz"), "--devices", "cpu:threads=1,mem=64MiB,cpu:threads=1,mem=64MiB,cpu:threads=1,mem=64MiB",
			"--hidden", "8", "--epochs", "8000", "--eval-every", "2000", "--staleness", "2", "--checkpoint-every", "0", "--json")
		cmd.Env = append(cmd.Env, "TERM=xterm", "NO_COLOR=", c.env)
		cmd.Stderr = tty.File
		if err := cmd.Run(); err != nil {
			t.Fatalf("%s: %v: %s", c.env, err, tty.finish(t))
		}
		text := tty.finish(t)
		if got := strings.Contains(text, "\x1b[32m"); got != c.colours {
			t.Errorf("%s: colours: %v", c.env, got)
		}
		if !c.table {
			if strings.Contains(text, "\x1b") || !strings.Contains(text, "train 8000/8000") {
				t.Errorf("%s: want lines, got %q", c.env, text)
			}
			continue
		}
		var table string
		v := screen{columns: 100, seen: func(lines []string) {
			if i := len(lines) - 5; i >= 0 && strings.Contains(lines[i], "busy") {
				table = strings.Join(lines[i:], "\n")
			}
		}}
		v.show(t, text)
		for _, want := range []string{"waiting", "hits", "epochs/s", "left", "loss", " of 64.0 MiB", "50.0 %", "cpu:threads=1", "\ntrain "} {
			if !strings.Contains(table, want) {
				t.Errorf("%s: the table does not show %q:\n%s", c.env, want, table)
			}
		}
		if left := strings.Join(v.lines, "\n"); strings.Contains(left, "busy") || strings.Contains(left, "[=") || !strings.Contains(left, "60 vertices") {
			t.Errorf("%s: left on the screen:\n%s", c.env, left)
		}
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
		tty := openTerminal(t, columns, 12)
		k := &console{out: io.Discard, err: tty.File, terminal: true}
		p := k.begin("train", 200, "epochs", 0)
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
		p.end()
		tty.finish(t)
	}
	if got := shorter(" 50% [============            ]"); got != " 50% [====    ]" {
		t.Errorf("half a bar is %q", got)
	}
}

// The second Ctrl-C ends train at once, and nothing of its picture stays: the prompt has a line of its own.
func TestInterruptLeavesACleanScreen(t *testing.T) {
	for _, twice := range []bool{false, true} {
		s := newSandbox(t)
		tty := openTerminal(t, 80, 24)
		cmd := s.command("train", "--dataset", newStore().write(s, "ring.npz"), "--devices", "cpu:threads=1,cpu:threads=1", "--hidden", "64", "--epochs", "1000000", "--eval-every", "0", "--json")
		cmd.Env = append(cmd.Env, "TERM=xterm", "NO_COLOR=1")
		cmd.Stderr = tty.File
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for deadline := time.Now().Add(time.Minute); !exists(s.path("runs")) && time.Now().Before(deadline); {
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(time.Second) // behind the first picture of an epoch
		for n := range 2 {
			if n == 1 && !twice {
				break
			}
			fmt.Fprint(tty.File, "^C") // as the terminal writes it
			if err := cmd.Process.Signal(os.Interrupt); err != nil {
				break // the first was enough
			}
		}
		_ = cmd.Wait() // an error says the exit code, too
		if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
			t.Errorf("twice %v: exit code %d", twice, code)
		}
		v := screen{columns: 300} // but for the error, which may be longer than a line
		v.show(t, tty.finish(t))
		left := strings.Join(v.lines, "\n")
		if strings.Contains(left, "epochs/s") || strings.Contains(left, "busy") || strings.Contains(left, "[=") || v.col != 0 || !strings.Contains(left, "stopping after this epoch") {
			t.Errorf("twice %v: the cursor is in column %d of\n%s", twice, v.col, left)
		}
	}
}
