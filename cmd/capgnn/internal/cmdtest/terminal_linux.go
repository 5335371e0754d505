package cmdtest

import (
	"io"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// PseudoTerminal is a terminal whose other side the test holds. It reads along, so that nobody waits for it.
type PseudoTerminal struct {
	*os.File // the side that programs write to
	master   *os.File
	text     chan string // all that was written, once both sides are closed
}

// OpenTerminal returns a new pseudo-terminal of this size; where the system has none, the test is skipped.
func OpenTerminal(t *testing.T, columns, rows int) *PseudoTerminal {
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
	p := &PseudoTerminal{File: slave, master: master, text: make(chan string, 1)}
	// Ends when no program holds the other side any more; finish waits for it.
	go func() {
		all, _ := io.ReadAll(master) // ends with an error where the other side is closed
		p.text <- string(all)
	}()
	return p
}

// Finish closes the side that programs write to and returns what they wrote.
func (p *PseudoTerminal) Finish(t *testing.T) string {
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

// Screen is what a terminal shows: it knows the few sequences that the console uses and takes no others.
type Screen struct {
	Lines    []string
	row, Col int
	Columns  int
	Seen     func([]string) // called with the lines whenever a line is complete
}

// Show takes what a program wrote to the terminal.
func (s *Screen) Show(t *testing.T, text string) {
	t.Helper()
	s.Lines = append(s.Lines, "")
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
			s.Col = 0
		case '\n':
			if s.row++; s.row == len(s.Lines) {
				s.Lines = append(s.Lines, "")
			}
			if s.Seen != nil {
				s.Seen(s.Lines)
			}
		default:
			line := []rune(s.Lines[s.row])
			for len(line) <= s.Col {
				line = append(line, ' ')
			}
			line[s.Col] = r
			s.Lines[s.row] = string(line)
			if s.Col++; s.Col > s.Columns {
				t.Fatalf("wider than the terminal: %q", s.Lines[s.row])
			}
		}
	}
}

// escape does what a sequence says.
func (s *Screen) escape(t *testing.T, args string, command byte) {
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
		s.Lines[s.row] = string([]rune(s.Lines[s.row])[:min(s.Col, len([]rune(s.Lines[s.row])))])
		if command == 'J' {
			s.Lines = s.Lines[:s.row+1]
		}
	default:
		t.Fatalf("escape sequence %s%c", args, command)
	}
}
