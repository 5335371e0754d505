package stores

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/check"
	"capgnn/internal/regular"
)

const (
	MetaFile     = "meta.json"
	storeVersion = 1
	maxMeta      = 1 << 20 // bytes of meta.json
)

// meta is meta.json of a store. Everything is optional when reading; what is there must agree with the arrays.
type meta struct {
	Version    int    `json:"capgnn_store"` // 1
	Name       string `json:"name"`
	Vertices   *int64 `json:"vertices"`
	Edges      *int64 `json:"edges"`              // entries of indices.npy
	Weighted   *bool  `json:"weighted,omitempty"` // edges have weights
	Features   *int64 `json:"features"`           // columns; 0: no features
	Sparse     *bool  `json:"sparse"`
	Standard   string `json:"standardized,omitempty"` // how features were standardised: train or rows
	Classes    *int64 `json:"classes"`                // 0: no labels
	MultiLabel *bool  `json:"multi_label"`
	Train      *int64 `json:"train,omitempty"` // vertices in the split; not there: no mask
	Val        *int64 `json:"val,omitempty"`
	Test       *int64 `json:"test,omitempty"`
}

// readMeta reads meta.json; without the file everything is unknown.
func readMeta(path string) (meta, error) {
	f, err := regular.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return meta{}, nil
	}
	if err != nil {
		return meta{}, err
	}
	defer f.Close()
	b := make([]byte, 0, 1024)
	buf := bytes.NewBuffer(b)
	if _, err := buf.ReadFrom(&limited{f, maxMeta}); err != nil {
		return meta{}, &dataset.FormatError{File: path, Offset: -1, Err: err}
	}
	return parseMeta(path, buf.Bytes())
}

// limited fails when more than left bytes are read.
type limited struct {
	f    *os.File
	left int
}

func (l *limited) Read(p []byte) (int, error) {
	n, err := l.f.Read(p)
	if l.left -= n; l.left < 0 {
		return 0, fmt.Errorf("is longer than %d bytes", maxMeta)
	}
	return n, err
}

// parseMeta decodes meta.json and checks what can be checked without the arrays.
func parseMeta(path string, b []byte) (meta, error) {
	var m meta
	fault := func(at int64, err error) (meta, error) {
		return meta{}, &dataset.FormatError{File: path, Offset: at, Err: err}
	}
	if err := json.Unmarshal(b, &m); err != nil {
		var syntax *json.SyntaxError
		var typ *json.UnmarshalTypeError
		switch {
		case errors.As(err, &syntax):
			return fault(syntax.Offset, err)
		case errors.As(err, &typ):
			return fault(typ.Offset, fmt.Errorf("%q is %s, want %s", typ.Field, typ.Value, typ.Type))
		}
		return fault(-1, err)
	}
	if m.Version == 0 && !bytes.Contains(b, []byte(`"capgnn_store"`)) {
		m.Version = storeVersion
	}
	if m.Version != storeVersion {
		return fault(-1, fmt.Errorf("version %d of the store; this program reads version %d", m.Version, storeVersion))
	}
	for _, f := range []struct {
		name  string
		value *int64
		limit int64
	}{
		{"vertices", m.Vertices, math.MaxInt32 - 1}, {"edges", m.Edges, math.MaxInt64}, {"features", m.Features, check.MaxCols},
		{"classes", m.Classes, math.MaxInt32 - 1}, {"train", m.Train, math.MaxInt32}, {"val", m.Val, math.MaxInt32}, {"test", m.Test, math.MaxInt32},
	} {
		if f.value != nil && (*f.value < 0 || *f.value > f.limit) {
			return fault(-1, fmt.Errorf("%q is %d, outside [0, %d]", f.name, *f.value, f.limit))
		}
	}
	if s := m.Standard; s != "" && s != dataset.StandardizeTrain && s != dataset.StandardizeRows {
		return fault(-1, fmt.Errorf("standardized is %.40q, want %s or %s", s, dataset.StandardizeTrain, dataset.StandardizeRows))
	}
	if !plainName(m.Name) {
		return fault(-1, fmt.Errorf("name %.40q holds other characters than letters, digits, '.', '_' and '-'", m.Name))
	}
	return m, nil
}

// plainName reports whether a name from a file may become part of a path. The empty name is plain: none was given.
func plainName(s string) bool {
	if len(s) > 100 || strings.HasPrefix(s, ".") || strings.HasPrefix(s, "-") {
		return false
	}
	for _, c := range s {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune("._-", c)) {
			return false
		}
	}
	return true
}

// sanitised makes a plain name of any text.
func sanitised(s string) string {
	out := strings.Map(func(c rune) rune {
		if plainName("x" + string(c)) {
			return c
		}
		return '_'
	}, s)
	out = strings.TrimLeft(out, ".-")
	return out[:min(len(out), 100)]
}

// or returns what p points to, -1 if unknown.
func or(p *int64) int {
	if p == nil {
		return -1
	}
	return int(*p)
}

// metaOf describes a data set.
func metaOf(d *dataset.Dataset) meta {
	num := func(n int) *int64 { v := int64(n); return &v }
	sparse, multi, edges := d.Features.Sparse(), d.MultiLabel(), d.Graph.Edges()
	m := meta{
		Version: storeVersion, Name: sanitised(d.Name), Vertices: num(d.Graph.Rows()), Edges: &edges,
		Features: num(d.Features.Cols), Sparse: &sparse, Classes: num(d.Classes), MultiLabel: &multi, Standard: d.Standardised,
	}
	if weighted := d.Graph.Weights != nil; weighted {
		m.Weighted = &weighted
	}
	for _, f := range []struct {
		into **int64
		mask []bool
	}{{&m.Train, d.Train}, {&m.Val, d.Val}, {&m.Test, d.Test}} {
		if f.mask != nil {
			*f.into = num(check.CountTrue(f.mask))
		}
	}
	return m
}
