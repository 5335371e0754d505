package ranks

import (
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

func TestLines(t *testing.T) {
	var to strings.Builder
	l := &lines{to: &to, turn: new(sync.Mutex), prefix: "[1 b] "}
	for _, s := range []string{"one\ntw", "", "o\r\n\n", "capgnn: lost\nla", "st"} {
		if n, err := l.Write([]byte(s)); n != len(s) || err != nil {
			t.Errorf("%q: %d, %v", s, n, err)
		}
	}
	const whole = "[1 b] one\n[1 b] two\n[1 b] \n[1 b] capgnn: lost\n"
	if to.String() != whole {
		t.Errorf("%q, want %q", to.String(), whole)
	}
	l.end()
	l.end()
	if to.String() != whole+"[1 b] last\n" || l.said() != "lost" || l.last != "last" {
		t.Errorf("%q, %q, %q", to.String(), l.said(), l.last)
	}
}

// However a stream is cut, the same text arrives, in lines of bounded length.
func TestLongLines(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var to strings.Builder
		l := &lines{to: &to, turn: new(sync.Mutex), prefix: ""}
		text := strings.Repeat("x", r.IntN(3*maxLine)) + "\n" + strings.Repeat("y", r.IntN(2*maxLine)) + "\nz"
		for rest := text; rest != ""; {
			n := min(len(rest), 1+r.IntN(2*maxLine))
			l.Write([]byte(rest[:n]))
			rest = rest[n:]
			if len(l.rest) > maxLine {
				t.Fatalf("%d bytes are kept", len(l.rest))
			}
		}
		l.end()
		for line := range strings.Lines(to.String()) {
			if len(line) > maxLine+1 {
				t.Errorf("a line of %d bytes", len(line))
			}
		}
		if strings.ReplaceAll(to.String(), "\n", "") != strings.ReplaceAll(text, "\n", "") {
			t.Error("the text has changed")
		}
	}
}
