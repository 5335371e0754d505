package textfile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/gzip"
)

func zipped(t testing.TB, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, 9)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := z.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// Survey counts what a second reading finds.
func TestSurvey(t *testing.T) {
	for _, c := range []struct {
		text string
		want Lines
	}{
		{"", Lines{}}, {"1,2\n3,4", Lines{Rows: 2, Bytes: 7}}, {"1\n\n2\n", Lines{Rows: 2, Empty: 1, Inner: 1, Bytes: 5}}, {"# a\n1\n \n\n", Lines{Rows: 1, Empty: 2, Bytes: 9}},
		{"%a\r\n\r\n,1\r2", Lines{Rows: 2, Empty: 1, Inner: 1, Bytes: 10}}, {strings.Repeat("12 3\n", 100000), Lines{Rows: 100000, Bytes: 500000}},
	} {
		for _, b := range [][]byte{[]byte(c.text), zipped(t, c.text)} {
			path := filepath.Join(t.TempDir(), "a.csv")
			if err := os.WriteFile(path, b, 0o600); err != nil {
				t.Fatal(err)
			}
			err := Open(path, nil, func(x *Reader) error {
				got, err := x.Survey()
				if err != nil || got != c.want || x.at() != 0 || x.line != 1 {
					return fmt.Errorf("%.20q: %+v, at %d, %v, want %+v", c.text, got, x.at(), err, c.want)
				}
				return nil
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
}

// Head splits lines at what stands between their fields, and goes back; it does not split lines of any length.
func TestHead(t *testing.T) {
	long := strings.Repeat("1,", 3<<20)
	for _, c := range []struct {
		text  string
		want  string
		first bool
		delim byte
	}{
		{"", "[]", false, 0}, {"a,b\n1,2\n3", `[["a" "b"] ["1" "2"]]`, true, ','}, {"# c\n\"a;b\";c d\r\n", `[["a;b" "c d"]]`, false, ';'}, {"a b\tc\n", `[["a b" "c"]]`, true, '\t'},
		{" a  b \r1 2", `[["a" "b"] ["1" "2"]]`, true, ' '}, {"a b {'c': 1, 'd': 2}\n", `[["a" "b" "{'c': 1, 'd': 2}"]]`, true, ' '}, {",x\n\"\"\n", `[["" "x"] [""]]`, true, ','},
		{"\"a b\" c\n", `[["a b" "c"]]`, true, ' '}, {long + "\n" + long, `[["1" "…"] ["1" "…"]]`, true, ','},
	} {
		x, err := NewReader("a", strings.NewReader(c.text), int64(len(c.text)))
		if err != nil {
			t.Fatal(err)
		}
		head, first, err := x.Head(2)
		if got := fmt.Sprintf("%q", head); err != nil || got != c.want || first != c.first || x.Delimiter() != c.delim || x.at() != 0 {
			t.Errorf("%.20q: %.200s, %v, %q at %d, %v, want %s", c.text, got, first, x.Delimiter(), x.at(), err, c.want)
		}
	}
}
