package term

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// errorPrefix begins the line of an error.
	errorPrefix = "capgnn: "
	// MaxErrorLine is how long that line may be, in characters: as much as anybody reads.
	MaxErrorLine = 400
	// maxWord is how much of a long word, such as a path, is left at least.
	maxWord = 60
)

// ErrorLine is the one line that is printed of an error. Beside a file that is not there another one may have been meant.
func ErrorLine(err error) string {
	near := likeMissing(err)
	return errorPrefix + shortened(OneLine(err), MaxErrorLine-len(errorPrefix)-len(near)) + near
}

// likeMissing proposes the file of the nearest name in the folder of one that is not there; "": there is none like it.
func likeMissing(err error) string {
	var e *fs.PathError
	if !errors.As(err, &e) || !errors.Is(e, fs.ErrNotExist) {
		return ""
	}
	list, _ := os.ReadDir(filepath.Dir(e.Path)) // of none none is like it
	var names []string
	for _, there := range list {
		names = append(names, there.Name())
	}
	near := Nearest(filepath.Base(e.Path), names)
	if near == "" {
		return ""
	}
	return Escaped(fmt.Sprintf(" (did you mean %s?)", near))
}

// OneLine returns the text of err without line breaks: joined errors are separated by semicolons, and what a file name, a flag
// or a file brought that is not for printing is escaped.
func OneLine(err error) string { return Escaped(strings.TrimSpace(flat(err))) }

// flat returns the text of err with semicolons in place of the line breaks between joined errors, but not of those in texts.
func flat(err error) string {
	var causes []error
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		causes = []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		causes = e.Unwrap()
	}
	causes = slices.DeleteFunc(slices.Clone(causes), func(c error) bool { return c == nil || c.Error() == "" })
	text := err.Error()
	var raw, parts []string
	for _, c := range causes {
		raw, parts = append(raw, c.Error()), append(parts, flat(c))
	}
	if len(raw) > 0 && strings.Join(raw, "\n") == text {
		return strings.Join(slices.Compact(parts), "; ") // one cause may have ended two things
	}
	for i := range raw {
		text = strings.Replace(text, raw[i], parts[i], 1)
	}
	return text
}

// Escaped returns the text with a Go escape for every character that is not for printing: control characters, such as those
// that move a terminal's cursor, marks of writing direction, and bytes that are no UTF-8.
func Escaped(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, "\\x%02x", text[i])
		case unicode.IsPrint(r) || r == '\u00a0': // numbers have it before their unit
			b.WriteRune(r)
		default:
			q := strconv.QuoteRune(r)
			b.WriteString(q[1 : len(q)-1])
		}
	}
	return b.String()
}

// Row prints a row of a table, its cells between tabs. They may come from files that are anybody's.
func Row(table io.Writer, cells ...string) {
	for i, cell := range cells {
		if i > 0 {
			fmt.Fprint(table, "\t")
		}
		fmt.Fprint(table, Escaped(cell))
	}
	fmt.Fprintln(table)
}

// Columns is how wide tables are whose cells can be broken: as wide as a terminal at least is.
const Columns = 80

// Folded breaks a text into lines of at most so many characters, but for what cannot be broken: between items, which
// have two blanks between them, where there are some, else between words.
func Folded(text string, width int) (lines []string) {
	between := " "
	if strings.Contains(text, "  ") {
		between = "  "
	}
	for item := range strings.SplitSeq(text, between) {
		n := len(lines) - 1
		if n >= 0 && utf8.RuneCountInString(lines[n]+between+item) <= width {
			lines[n] += between + item
		} else {
			lines = append(lines, item)
		}
	}
	return lines
}

// shortened returns the text with at most so many characters: long words but addresses are cut in their middle, the longest first,
// then the middle of the text, since what to do stands at its end; what is wrong stands before the first semicolon and stays whole.
func shortened(text string, most int) string {
	words := strings.Split(text, " ")
	for surplus := utf8.RuneCountInString(text) - most; surplus > 0; surplus = utf8.RuneCountInString(strings.Join(words, " ")) - most {
		longest, n := 0, 0
		for i, w := range words {
			if k := utf8.RuneCountInString(w); k > n && !strings.Contains(w, "://") {
				longest, n = i, k
			}
		}
		if n <= maxWord {
			return causeKept(strings.Join(words, " "), most)
		}
		words[longest] = middleCut(words[longest], max(maxWord, n-surplus))
	}
	return strings.Join(words, " ")
}

// causeKept returns the text with at most so many characters. It is cut behind its first semicolon if that leaves room for more than the cause.
func causeKept(text string, most int) string {
	const leastCure = 40
	cause, cure, found := strings.Cut(text, "; ")
	if n := utf8.RuneCountInString(cause) + len("; "); found && n+leastCure <= most {
		return cause + "; " + middleCut(cure, most-n)
	}
	return middleCut(text, most)
}

// middleCut returns the text with at most so many characters: a third of them from its beginning.
func middleCut(text string, most int) string {
	r := []rune(text)
	if len(r) <= most {
		return text
	}
	head := most / 3
	return string(r[:head]) + "…" + string(r[len(r)-(most-head-1):])
}
