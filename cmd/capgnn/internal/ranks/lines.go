package ranks

import (
	"bytes"
	"io"
	"strings"
	"sync"
)

// maxLine is how much of a line without an end is kept, in bytes. Longer ones are passed on in pieces.
const maxLine = 64 << 10

// lines passes on whole lines of what one rank writes to one stream, with a prefix in front. What several of them pass on at once
// does not mix. It never fails: a rank goes on where nobody reads its lines.
type lines struct {
	to     io.Writer
	turn   *sync.Mutex // of all that write to a terminal
	prefix string
	rest   []byte // the beginning of a line

	fault, last string // the last line of an error, and the last line that is not empty
}

func (l *lines) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		line, behind, ended := bytes.Cut(rest, []byte("\n"))
		if room := maxLine - len(l.rest); len(line) > room {
			line, behind, ended = line[:room], rest[room:], true
		}
		l.rest = append(l.rest, line...)
		rest = behind
		if ended {
			l.flush()
		}
	}
	return len(p), nil
}

// unfailing is a writer whose errors a rank does not see: whoever made it keeps them.
type unfailing struct{ to io.Writer }

func (u unfailing) Write(p []byte) (int, error) {
	_, _ = u.to.Write(p)
	return len(p), nil
}

// end passes on what is left of a last line without an end.
func (l *lines) end() {
	if len(l.rest) > 0 {
		l.flush()
	}
}

// flush passes a line on.
func (l *lines) flush() {
	text := strings.TrimSuffix(string(l.rest), "\r")
	l.rest = l.rest[:0]
	if fault, ok := strings.CutPrefix(text, faultPrefix); ok {
		l.fault = fault
	}
	if strings.TrimSpace(text) != "" {
		l.last = text
	}
	l.turn.Lock()
	defer l.turn.Unlock()
	_, _ = io.WriteString(l.to, l.prefix+text+"\n") // nobody may read any more: the run goes on
}

// said returns the error with which the rank ended, as far as it can be told from its lines.
func (l *lines) said() string {
	if l.fault != "" {
		return l.fault
	}
	return l.last
}
