package dataset

import (
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Columns are matched by names where both sides have them; what cannot be matched is refused by name.
func TestMatchNames(t *testing.T) {
	for name, c := range map[string]struct {
		have, want []string
		from       []int
		err        string
	}{
		"alike":        {[]string{"a", "b"}, []string{"a", "b"}, nil, ""},
		"turned":       {[]string{"b", "c", "a"}, []string{"a", "b", "c"}, []int{2, 0, 1}, ""},
		"run without":  {[]string{"a"}, nil, nil, ""},
		"data without": {nil, []string{"a"}, nil, ""},
		"twice alike":  {[]string{"a", "a"}, []string{"a", "a"}, nil, ""},
		"another": {[]string{"age", "Bern", "Lima"}, []string{"age", "Lima", "Rome"}, nil,
			`column "Rome" of the run is not in the data set, whose "Bern" is not in the run (1 of 3 columns differ)`},
		"missing":           {[]string{"b"}, []string{"a", "b", "c"}, nil, `column "a" of the run is not in the data set (2 of 3 columns are missing)`},
		"more":              {[]string{"b", "x", "a"}, []string{"a", "b"}, nil, `column "x" of the data set is not in the run (1 more than its 2 columns)`},
		"twice in the data": {[]string{"a", "a", "b"}, []string{"a", "b", "c"}, nil, `two columns of the data set are called "a"`},
		"twice in the run":  {[]string{"a", "b"}, []string{"b", "b"}, nil, `two columns of the run are called "b"`},
	} {
		from, err := MatchNames(Columns, c.have, c.want)
		if !slices.Equal(from, c.from) || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, %v, want %v, %q", name, from, err, c.from, c.err)
		}
	}
}

// Dense and sparse features come in the same order, and the arrays that there were stay as they were.
func TestOrderColumns(t *testing.T) {
	dense := []float32{1, 2, 3, 4, 5, 6}
	indptr, indices, data := []int64{0, 2, 4}, []int32{0, 2, 1, 2}, []float32{1, 3, 5, 6}
	for name, c := range map[string]struct {
		in, want Features
	}{
		"dense": {Features{Cols: 3, Dense: dense}, Features{Cols: 3, Dense: []float32{3, 1, 2, 6, 4, 5}}},
		"sparse": {Features{Cols: 3, Indptr: indptr, Indices: indices, Data: data},
			Features{Cols: 3, Indptr: []int64{0, 2, 4}, Indices: []int32{0, 1, 0, 2}, Data: []float32{3, 1, 6, 5}}},
	} {
		d := &Dataset{Features: c.in, ColumnNames: []string{"a", "b", "c"}}
		if err := d.OrderColumns([]string{"c", "a", "b"}); err != nil {
			t.Fatal(err)
		}
		f := &d.Features
		if !reflect.DeepEqual(f, &c.want) {
			t.Errorf("%s: got %+v, want %+v", name, *f, c.want)
		}
		if len(d.Notes) != 1 || !strings.Contains(d.Notes[0], "3 of 3 columns") || !slices.Equal(d.ColumnNames, []string{"c", "a", "b"}) {
			t.Errorf("%s: notes %q, columns %q", name, d.Notes, d.ColumnNames)
		}
	}
	if !slices.Equal(dense, []float32{1, 2, 3, 4, 5, 6}) || !slices.Equal(indices, []int32{0, 2, 1, 2}) || !slices.Equal(data, []float32{1, 3, 5, 6}) {
		t.Error("the arrays of the files were written to")
	}
}
