package formats

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/datatest"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/graph/dataset/stores"
)

// Names of classes that look like missing values are noted, with how many vertices have them.
func TestDoubtfulClassNames(t *testing.T) {
	dir := datatest.PutText(t, map[string]string{"edges.csv": "0,1\n", "labels.csv": "y\nred\nunknown\nblue\nunknown\nN/A\n"})
	d, err := Load(dir, dataset.Options{})
	const want = `labels: class "unknown" looks like a missing value, of 2 vertices; leave the field empty where the class is not known`
	if err != nil || !slices.Contains(d.Notes, want) || !slices.Equal(d.Labels, []int32{1, 2, 0, 2, -1}) {
		t.Errorf("got %+v, %v", d, err)
	}
}

// Names of classes that may be meant as the same, or as several, are noted, and a name of the column that comes again is refused.
func TestAlikeClassNames(t *testing.T) {
	for _, c := range []struct{ labels, note string }{
		{"Red\nred\ngreen\n", `labels: classes "Red" and "red" differ in the case of letters only; if they mean the same, write one of them`},
		{"x-y\nx\u2010y\nz\n", `labels: classes "x-y" and "x‐y" differ in blanks or dashes only; if they mean the same, write one of them`},
		{"cafe\u0301\ncaf\u00e9\nbar\n", `labels: 2 classes are numbered by their names: "bar", "café"`},
		{":A:B\n:A\n:B\n", "labels: fields such as :A:B are classes of their own; several classes of a vertex are columns of 0 and 1, which `capgnn data tables --label-sep ':'` makes"},
		{"A\nlabel\nB\n", `line 3 is the line of the name, "label", again: delete it`},
	} {
		dir := datatest.PutText(t, map[string]string{"edges.csv": "0,1\n", "labels.csv": "label\n" + c.labels})
		d, err := Load(dir, dataset.Options{})
		if err != nil && !strings.Contains(err.Error(), c.note) || err == nil && !slices.Contains(d.Notes, c.note) {
			t.Errorf("%q: got %+v, %v", c.labels, d, err)
		}
	}
}

// Names of classes come with a folder of CSV files, go into the store and come out of it; names of other classes are left alone.
func TestClassNames(t *testing.T) {
	for _, c := range []struct {
		name, file string
		want       []string
		note       string
	}{
		{"names", "class\nblue, dark\nred\n", []string{"blue, dark", "red"}, ""},
		{"quoted", "class\n\"blue, dark\"\n\"r\x1b[2Jed\"\n", []string{"blue, dark", "r [2Jed"}, ""},
		{"an empty one", "class\n\"\"\nred\n", []string{"", "red"}, `classes.csv: class "" looks like a missing value, of 1 vertices; where the class is not known, the label is empty or -1`},
		{"a byte order mark", "\ufeffclass\r\nblue\r\nred\r\n", []string{"blue", "red"}, ""},
		{"as the labels", "y\nblue\nred\n", []string{"blue", "red"}, ""},
		{"no header and one more", "blue\nred\ngreen\n", []string{"red", "green"}, `classes.csv: the first line, "blue", is read as the name of the column; if it names class 0, put the line class above it`},
		{"numbers without a header", "0\n1\n2\n", []string{"1", "2"}, `classes.csv: the first line, "0", is read as the name of the column`},
		{"doubtful", "class\nblue\nUnknown\nNaN\n", []string{"blue", "Unknown", "NaN"}, `classes.csv: class "Unknown" looks like a missing value, of 2 vertices; where`},
		{"none", "", nil, ""},
		{"too few", "class\nblue\n", nil, "names 1 of 2 classes"},
		{"a class without vertices", "class\nblue\nred\ngreen\n", []string{"blue", "red", "green"}, ""},
		{"junk", "\"", nil, "classes.csv: parse error on line 1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.name == "names" {
				c.file = strings.Replace(c.file, "blue, dark", `"blue, dark"`, 1)
			}
			dir := t.TempDir()
			files := map[string]string{"edges.csv": "a,b\n0,1\n1,2\n", "labels.csv": "y\n0\n1\n1\n", "features.csv": "x\n1\n2\n3\n"}
			if c.file != "" {
				files[fields.ClassesFile] = c.file
			}
			for name, text := range files {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			check := func(dir, note string) *dataset.Dataset {
				t.Helper()
				d, err := Load(dir, dataset.Options{})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { d.Close() })
				notes := strings.Join(d.Notes, "\n")
				if !slices.Equal(d.ClassNames, c.want) || note != "" && !strings.Contains(notes, note) || note == "" && strings.Contains(notes, fields.ClassesFile) {
					t.Errorf("got %q, notes %q, want %q and %q", d.ClassNames, notes, c.want, note)
				}
				return d
			}
			store := filepath.Join(t.TempDir(), "store")
			if err := stores.Write(store, check(dir, c.note), nil); err != nil {
				t.Fatal(err)
			}
			check(store, map[bool]string{true: "looks like a missing value"}[strings.Contains(c.note, "missing")])
		})
	}
}

// The first line of columns.csv and ids.csv is the name of the column, which is noted where it may be a name as well.
func TestTitlesOfNames(t *testing.T) {
	const column, id = `columns.csv: the first line, "age", is read as the name of the column; if it names column 0, put the line column above it`,
		`ids.csv: the first line, "n1", is read as the name of the column; if it names vertex 0, put the line id above it`
	for _, c := range []struct {
		columns, ids string
		want         []string
	}{
		{"column\nage\n", "id\nn1\nn2\n", nil}, {"age\nsize\n", "user\nn1\nn2\n", []string{column}}, {"Feature\nage\n", "n1\nn2\nn3\n", []string{id}},
		{"age\n", "id\nn1\nn2\nn3\n", []string{`columns.csv has 0 names below its first line, which is taken as the header (if it names something, put the line column above it), want 1: left alone`,
			`ids.csv has 3 names below its first line, which is taken as the header, want 2: left alone`}},
	} {
		d, err := Load(datatest.PutText(t, map[string]string{"edges.csv": "0,1\n", "features.csv": "1.5\n2.5\n", "columns.csv": c.columns, "ids.csv": c.ids}), dataset.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, note := range d.Notes {
			if _, text, is := strings.Cut(note, "/"+t.Name()); is {
				got = append(got, text[strings.LastIndexByte(text, '/')+1:])
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%+v: got %q", c, d.Notes)
		}
	}
}
