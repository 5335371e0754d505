package shards

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/graph/dataset/stores"
	"capgnn/internal/regular"
)

// Folder is what all machines know of a data set that is kept in shards.
type Folder struct {
	Dir string
	Head
	ClassNames  []string // nil: only numbers are known
	ColumnNames []string // of the features; nil: only numbers are known
	Plan        []byte   // the file of the plan
}

// Options says how a folder is read.
type Options struct {
	Known bool          // that files of the right size are what was written, so that they need not be read for that, and hold no NaN
	Watch dataset.Watch // nil: nobody
}

// Open reads the head of a folder, and its plan.
func Open(dir string, opt Options) (*Folder, error) {
	common := filepath.Join(dir, commonDir)
	h, err := parseHead(filepath.Join(common, headFile))
	if err != nil {
		return nil, err
	}
	f := &Folder{Dir: dir, Head: *h}
	for _, name := range f.tables() {
		if _, ok := h.Files[name]; !ok {
			return nil, &dataset.FormatError{File: filepath.Join(common, headFile), Offset: -1, Err: fmt.Errorf("file %s is not announced", name)}
		}
	}
	if err := checkFiles(common, h.Files, opt.Known, opt.Watch); err != nil {
		return nil, err
	}
	if f.Plan, err = regular.ReadFile(filepath.Join(common, planFile), maxPlan); err != nil {
		return nil, err
	}
	if f.ClassNames, err = f.names(classesFile, maxNames, h.Classes, "classes"); err == nil {
		f.ColumnNames, err = f.names(columnsFile, maxNames, h.Features, "columns")
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// names reads a file of common with so many names, of at most so many bytes; nil: there is none.
func (f *Folder) names(file string, most int64, want int, of string) (names []string, err error) {
	if _, ok := f.Files[file]; !ok {
		return nil, nil
	}
	path := filepath.Join(f.Dir, commonDir, file)
	if err = readJSON(path, most, &names); err == nil && len(names) != want {
		err = &dataset.FormatError{File: path, Offset: -1, Err: fmt.Errorf("%d names of %d %s", len(names), want, of)}
	}
	return names, err
}

// IDs reads the ids of all vertices: numbers, or texts. Both nil: vertices have none.
func (f *Folder) IDs() (ids []int64, names []string, err error) {
	if _, ok := f.Files[idsKey+".npy"]; !ok {
		names, err = f.names(idsFile, maxPlan, f.Vertices, "vertices")
		return nil, names, err
	}
	r := reader{src: fields.Folder{Dir: filepath.Join(f.Dir, commonDir)}}
	if a := r.array(idsKey, f.Vertices); a != nil {
		ids, r.err = a.Int64()
	}
	return ids, nil, r.err
}

// maxPlan bounds the file of a plan, and of ids, that is read as a whole, in bytes.
const maxPlan = 16 << 30

// tables are the files that common must have.
func (f *Folder) tables() []string {
	names := []string{planFile, "in_degree.npy", "loops.npy", "hops.npy", "in_halo_at.npy", "in_halo.npy", "in_halo_edges.npy", "in_halo_hops.npy"}
	if !f.Symmetric {
		names = append(names, "out_degree.npy", "out_halo_at.npy", "out_halo.npy", "out_halo_edges.npy")
	}
	if f.Weighted {
		for _, key := range weightTables {
			names = append(names, key+".npy")
		}
	}
	return names
}

// Outline reads the tables of all parts; part is that of every vertex, by the plan.
func (f *Folder) Outline(part []int32) (*graph.Outline, error) {
	r := reader{src: fields.Folder{Dir: filepath.Join(f.Dir, commonDir)}}
	n, parts := f.Vertices, f.Parts()
	o := &graph.Outline{PartOf: part, Symmetric: f.Symmetric, InDegree: r.int32s("in_degree", n), Hops: r.bytes("hops", n)}
	if a := r.array("loops", n); a != nil {
		o.Loops, r.err = a.Bool()
	}
	o.In = r.fringes("in", parts, true)
	if o.OutDegree, o.Out = o.InDegree, o.In; !f.Symmetric {
		o.OutDegree, o.Out = r.int32s("out_degree", n), r.fringes("out", parts, false)
	}
	if f.Weighted {
		o.Weights = r.sums(n, o.Loops)
	}
	if r.err != nil {
		return nil, r.err
	}
	if err := o.Validate(parts); err != nil {
		return nil, &dataset.FormatError{File: filepath.Join(f.Dir, commonDir), Offset: -1, Err: err}
	}
	return o, nil
}

// Shard is what one machine has, mapped.
type Shard struct {
	In     *dataset.Dataset // rows of own vertices and, behind them, of those that they list; with features, and ids in the whole graph
	Out    *dataset.Dataset // the same of the transpose, without features; In where the graph is symmetric
	Labels *dataset.Dataset // labels and masks of own vertices
	// OutWeights are those of Out's edges, which differ from In's also where the graph is symmetric; nil: edges have none.
	OutWeights []float32
}

// Close gives the files back.
func (s *Shard) Close() error {
	err := s.In.Close()
	if s.Out != s.In {
		err = errors.Join(err, s.Out.Close())
	}
	return err
}

// Rest takes the files out of the process's memory until they are read again.
func (s *Shard) Rest() {
	s.In.Rest()
	s.Out.Rest()
}

// ByRows says whether the files are read by rows, here and there, from now on, or in order.
func (s *Shard) ByRows(on bool) {
	s.In.ByRows(on)
	s.Out.ByRows(on)
}

// Path is where the shard of a machine lies.
func (f *Folder) Path(machine int) string { return filepath.Join(f.Dir, machineDir(machine)) }

// Unchanged says what has become of the files of a machine since they were mapped, as far as their sizes tell.
func (f *Folder) Unchanged(machine int) error {
	return checkFiles(f.Path(machine), f.Machines[machine].Files, true, nil)
}

// Shard maps what a machine has. fs.ErrNotExist: its folder is not here.
func (f *Folder) Shard(machine int, opt Options) (*Shard, error) {
	dir, m := f.Path(machine), &f.Machines[machine]
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: is not there: copy the shard of machine %d of %d into the folder: %w", dir, machine, len(f.Machines), fs.ErrNotExist)
	}
	if err := f.checkMark(dir, machine); err != nil {
		return nil, err
	}
	if err := checkFiles(dir, m.Files, opt.Known, opt.Watch); err != nil {
		return nil, err
	}
	s := new(Shard)
	var err error
	if s.In, err = f.store(dir, m.Vertices, m.Vertices+m.Others, opt); err != nil {
		return nil, err
	}
	if s.Out = s.In; !f.Symmetric {
		if s.Out, err = f.store(filepath.Join(dir, outDir), m.Vertices, -1, opt); err != nil {
			s.Out = s.In
			return nil, errors.Join(err, s.Close())
		}
	}
	if s.OutWeights = s.Out.Graph.Weights; f.Weighted && f.Symmetric {
		s.OutWeights, err = fields.ReadWeights(s.In, fields.Folder{Dir: dir, Opt: dataset.Options{Known: opt.Known}}, outWeightsKey, len(s.In.Graph.Indices))
	}
	if err == nil {
		err = f.checkFeatures(dir, &s.In.Features)
	}
	if err == nil {
		s.Labels, err = f.labels(dir, m.Vertices)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// checkMark refuses the shard of another cut.
func (f *Folder) checkMark(dir string, machine int) error {
	var is mark
	path := filepath.Join(dir, Mark)
	if err := readJSON(path, maxHead, &is); err != nil {
		return err
	}
	want := mark{Version: f.Version, Plan: f.Head.Plan, Graph: f.Graph, Machine: machine, Machines: len(f.Machines)}
	if is != want {
		return &dataset.FormatError{File: path, Offset: -1, Err: fmt.Errorf("the shard is %s, the folder's tables are %s: copy both from one folder", is.describe(), want.describe())}
	}
	return nil
}

func (m mark) describe() string {
	return fmt.Sprintf("of machine %d of %d by plan %.12s", m.Machine, m.Machines, m.Plan)
}

// store maps a store of so many vertices, −1 for any number, of which the first own ones have rows.
func (f *Folder) store(dir string, own, vertices int, opt Options) (*dataset.Dataset, error) {
	d, err := stores.Load(dir, dataset.Options{Edges: dataset.Directed, Known: opt.Known, Watch: opt.Watch})
	if err != nil {
		return nil, err
	}
	fault := error(nil)
	switch n := d.Graph.Rows(); {
	case vertices >= 0 && n != vertices || n < own:
		fault = fmt.Errorf("%d vertices, of which %d are the shard's own, cannot be", n, own)
	case len(d.IDs) != n:
		fault = errors.New("ids.npy is missing")
	case (d.Graph.Weights != nil) != f.Weighted:
		fault = fmt.Errorf("edges have weights: %t, announced is %t", d.Graph.Weights != nil, f.Weighted)
	case d.Graph.Indptr[own] != d.Graph.Edges():
		fault = errors.New("vertices of other machines have rows")
	}
	if fault == nil {
		fault = d.Validate()
	}
	if fault == nil {
		return d, nil
	}
	return nil, errors.Join(&dataset.FormatError{File: dir, Offset: -1, Err: fault}, d.Close())
}

func (f *Folder) checkFeatures(dir string, x *dataset.Features) error {
	if x.Cols == f.Features && x.Sparse() == f.Sparse && x.Present() {
		return nil
	}
	return &dataset.FormatError{File: dir, Offset: -1, Err: fmt.Errorf("has %d features (sparse: %t), %d are announced (sparse: %t)", x.Cols, x.Sparse(), f.Features, f.Sparse)}
}

// labels reads labels and masks of a shard's own vertices.
func (f *Folder) labels(dir string, own int) (*dataset.Dataset, error) {
	d, r := new(dataset.Dataset), reader{src: fields.Folder{Dir: dir}}
	a := r.any(ownPrefix + "y")
	switch {
	case r.err != nil:
	case f.MultiLabel:
		if r.err = fields.ReadTargets(d, a, own); r.err == nil && d.Classes != f.Classes {
			r.err = a.Fault(-1, fmt.Errorf("has %d columns for %d classes", d.Classes, f.Classes))
		}
	default:
		r.err = fields.ReadLabels(d, a, own, f.Classes)
	}
	for _, k := range d.Masks() {
		if !f.hasMask(k.Key) {
			continue
		}
		if a := r.array(ownPrefix+k.Key, own); a != nil {
			*k.Of, r.err = a.Bool()
		}
	}
	return d, r.err
}

// Common is the folder of what all machines know, in a folder of shards.
func Common(dir string) string { return filepath.Join(dir, commonDir) }

// Sum identifies what the files of a machine must be.
func (f *Folder) Sum(machine int) string { return sumOf(f.Machines[machine].Files) }

// sumOf identifies what files must be.
func sumOf(files map[string]file) string {
	h := sha256.New()
	for _, name := range sortedKeys(files) {
		fmt.Fprintln(h, name, files[name])
	}
	return hex.EncodeToString(h.Sum(nil))
}
