package tables

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"capgnn/graph/dataset/internal/fields"
)

// lineEnds makes the ends of lines '\n': Windows writes "\r\n", old programs of the Mac "\r".
type lineEnds struct {
	r  io.Reader
	cr bool // the last byte was '\r'
}

func (l *lineEnds) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	k := 0
	for _, c := range p[:n] {
		if c == '\n' && l.cr {
			l.cr = false
			continue
		}
		if l.cr = c == '\r'; l.cr {
			c = '\n'
		}
		p[k] = c
		k++
	}
	return k, err
}

// noTables are the first bytes of files that are no text, and what to do about them.
var noTables = []struct{ begin, what, cure string }{
	{"\xff\xfe", "UTF-16 text (Unicode text of Excel, or of PowerShell)", "save it as CSV UTF-8, or iconv -f UTF-16 -t UTF-8 FILE > NEW"},
	{"\xfe\xff", "UTF-16 text", "save it as CSV UTF-8, or iconv -f UTF-16 -t UTF-8 FILE > NEW"},
	{"PK\x03\x04", "a spreadsheet (.xlsx, .ods) or a .zip", "save the sheet as CSV UTF-8, or unpack the .zip"},
	{"\xd0\xcf\x11\xe0", "a spreadsheet (.xls)", "save the sheet as CSV UTF-8"},
	{"PAR1", "a Parquet file", `pandas.read_parquet("FILE").to_csv("NEW.csv", index=False)`},
	{"ARROW1", "a Feather file", `pandas.read_feather("FILE").to_csv("NEW.csv", index=False)`},
	{"FEA1", "a Feather file", `pandas.read_feather("FILE").to_csv("NEW.csv", index=False)`},
	{"BZh", "packed by bzip2", "unpack it, or pack it by gzip"},
	{"\xfd7zXZ", "packed by xz", "unpack it, or pack it by gzip"},
	{"\x28\xb5\x2f\xfd", "packed by zstd", "unpack it, or pack it by gzip"},
	{"7z\xbc\xaf", "packed by 7-Zip", "unpack it, or pack it by gzip"},
	{"SQLite format 3", "an SQLite database", `sqlite3 -header -csv FILE "select * from TABLE" > NEW.csv`},
}

// otherTexts are texts that are no tables, as they begin, and what to do about them. FILE stands for the file.
var otherTexts = []struct {
	begins     *regexp.Regexp
	what, cure string
}{
	{regexp.MustCompile(`(?is)^\s*\{.*"(nodes|links)"\s*:\s*\[`), "a JSON graph", "`capgnn data import FILE --out NEW` says which line of Python reads it"},
	{regexp.MustCompile(`(?i)^\s*nodedef\s*>`), "a GDF graph", "`capgnn data import FILE --out NEW` says what reads it"},
	{regexp.MustCompile(`^\s*\{\s*"[^\n]*\}\s*\n\s*\{`), "lines of JSON", `pandas.read_json("FILE", lines=True).to_csv("NEW.csv", index=False)`},
	{regexp.MustCompile(`^\s*(\{\s*["}]|\[\s*[\[{])`), "JSON", `pandas.read_json("FILE").to_csv("NEW.csv", index=False)`},
	{fields.SQL, "an SQL dump",
		`write each table of the database: mysql --batch -e "select * from TABLE" DB > NEW.tsv, psql --csv -c "select * from TABLE" DB > NEW.csv, or sqlite3 -header -csv DB "select * from TABLE" > NEW.csv`},
}

// encoding skips a byte order mark and refuses what is no text.
func (in *tableIn) encoding(r *bufio.Reader) error {
	if start, _ := r.Peek(3); string(start) == "\xef\xbb\xbf" {
		_, err := r.Discard(3)
		return errors.Join(err, in.otherText(r))
	}
	start, _ := r.Peek(512)
	for _, t := range noTables {
		if bytes.HasPrefix(start, []byte(t.begin)) {
			return fmt.Errorf("%s: is %s, not a table of text: %s", in.name, t.what, t.cure)
		}
	}
	if bytes.IndexByte(start, 0) >= 0 {
		return fmt.Errorf("%s: holds zero bytes, which no text has: if it is UTF-16, iconv -f UTF-16LE -t UTF-8 FILE > NEW",
			in.name)
	}
	return in.otherText(r)
}

// otherText refuses text that is known and no table.
func (in *tableIn) otherText(r *bufio.Reader) error {
	start, _ := r.Peek(1 << 12)
	for _, t := range otherTexts {
		if t.begins.Match(start) {
			return fmt.Errorf("%s: is %s, and no table: %s", in.name, t.what, strings.ReplaceAll(t.cure, "FILE", in.name))
		}
	}
	return nil
}

// top reads what may stand above the names of columns: empty lines, comments that begin with # or, as KONECT's, with %, and sep=; as Excel
// takes it.
func (in *tableIn) top(r *bufio.Reader) error {
	for {
		start, _ := r.Peek(512)
		sep := bytes.TrimPrefix(start, []byte(`"`))
		isSep := len(sep) > 4 && bytes.EqualFold(sep[:4], []byte("sep=")) && (len(sep) == 5 || sep[5] == '\n' || sep[5] == '"')
		comment := len(start) > 1 && start[0] == '#' && bytes.IndexByte([]byte(",;\t|"), start[1]) < 0 // else # is a name
		line0, _, _ := bytes.Cut(start, []byte("\n"))
		comment = comment || len(start) > 1 && start[0] == '%' && !bytes.ContainsAny(line0, ",;\t|")
		if len(start) == 0 || start[0] != '\n' && !isSep && !comment {
			return nil
		}
		in.source.Begin()
		line, err := r.ReadString('\n')
		if err != nil && err != io.EOF {
			return fmt.Errorf("%s: line %d: %w", in.name, in.above+1, err)
		}
		in.above++
		switch {
		case comment:
			in.comments, in.comment = in.comments+1, strings.TrimSpace(strings.ToValidUTF8(line, "\ufffd"))
		case isSep && bytes.IndexByte([]byte(",;\t|"), sep[4]) >= 0:
			in.comma = rune(sep[4])
		}
	}
}

// commentNames returns the fields of the last comment above, as SNAP names columns: # FromNodeId ToNodeId.
func (in *tableIn) commentNames() []string {
	if in.comments == 0 {
		return nil
	}
	text := strings.TrimSpace(strings.TrimLeft(in.comment, "#%"))
	if in.comma == '\t' || in.comma == ' ' {
		return strings.Fields(text)
	}
	names := strings.Split(text, string(in.comma))
	for i, name := range names {
		names[i] = strings.Trim(strings.TrimSpace(name), `"`)
	}
	return names
}

// allNumbers reports whether all fields are numbers.
func allNumbers(all []string) bool {
	for _, field := range all {
		if _, ok := fields.Number(field); !ok {
			return false
		}
	}
	return true
}

// separator returns what stands between the fields of the first line: of comma, semicolon and tab that which it has
// most of, else a bar, else blanks, if the second line has as many of them or, as R writes names of lines, one more.
func separator(r *bufio.Reader) rune {
	start, _ := r.Peek(r.Size())
	first, rest, _ := strings.Cut(string(start), "\n")
	second, _, _ := strings.Cut(strings.TrimLeft(rest, "\n"), "\n")
	first, second = unquoted(first), unquoted(second)
	best := ','
	for _, c := range ";\t" {
		if strings.Count(first, string(c)) > strings.Count(first, string(best)) {
			best = c
		}
	}
	if strings.Contains(first, string(best)) {
		return best
	}
	if strings.Contains(first, "|") {
		return '|'
	}
	names := len(strings.Fields(first))
	if more := len(strings.Fields(second)) - names; names > 1 && (more == 0 || more == 1) && !strings.ContainsAny(second, ",;\t|") {
		return ' '
	}
	return best
}

// unquoted puts a letter in place of what stands between quotation marks.
func unquoted(line string) string {
	var out strings.Builder
	for i, part := range strings.Split(line, `"`) {
		if i%2 == 0 {
			out.WriteString(part)
		} else {
			out.WriteByte('x')
		}
	}
	return out.String()
}
