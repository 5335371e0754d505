package term

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestErrorLine(t *testing.T) {
	two := errors.Join(errors.New("first"), errors.New("second\n"))
	for _, c := range []struct {
		err  error
		want string
	}{
		{errors.New("plain"), "capgnn: plain"},
		{two, `capgnn: first; second`},
		{fmt.Errorf("x: %w: y", two), `capgnn: x: first; second\n: y`},
		{errors.New("a\nb\tc\rd\x00e\x1b[31mf\x7fg"), `capgnn: a\nb\tc\rd\x00e\x1b[31mf\x7fg`},
		{errors.New("C1 \u009b31m, bidi \u202e \u2066 \u200f, \xff\xfe, line \u2028."), `capgnn: C1 \u009b31m, bidi \u202e \u2066 \u200f, \xff\xfe, line \u2028.`},
		{errors.New("名前 ü … \ufffd"), "capgnn: 名前 ü … \ufffd"},
		{errors.Join(fmt.Errorf("in %q", "a\nb"), errors.Join(errors.New("c\nd"), errors.New("e"))), `capgnn: in "a\nb"; c\nd; e`},
	} {
		if got := ErrorLine(c.err); got != c.want {
			t.Errorf("%q gives\n%q, want\n%q", c.err, got, c.want)
		}
	}
	long := strings.Repeat("x", 5000)
	for _, text := range []string{
		"read /" + long + "/end.npz: is damaged: fetch it again",
		"read /" + long + " and /" + long + "/" + long + ": is damaged: fetch it again",
		"one of " + strings.Repeat("word ", 200) + "is damaged: fetch it again",
		strings.Repeat("\x1b", 400) + " is damaged: fetch it again",
		strings.Repeat("ü", 300) + ": fetch it again",
	} {
		line := ErrorLine(errors.New(text))
		if n := utf8.RuneCountInString(line); n > MaxErrorLine || n < MaxErrorLine/2 || !strings.HasSuffix(line, "fetch it again") || !strings.HasPrefix(line, "capgnn: ") {
			t.Errorf("%d characters: %s", n, line)
		}
	}
}

// What is wrong stays whole, however long the advice behind it is.
func TestErrorKeepsCause(t *testing.T) {
	cause := "/" + strings.Repeat("folder/", 30) + "data: looks like a folder of another kind than raw/*.csv.gz of one graph, which this version does not read"
	line := ErrorLine(errors.New(cause + "; give " + strings.Repeat("this format, ", 40) + "or that one"))
	if !strings.Contains(line, ": looks like a folder of another kind than raw/*.csv.gz of one graph, which this version does not read; give ") || !strings.HasSuffix(line, "or that one") || utf8.RuneCountInString(line) > MaxErrorLine {
		t.Error(line)
	}
}
