package minibatch

import (
	"fmt"
	"reflect"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/host"
	"capgnn/internal/fit"
	"capgnn/internal/learn"
	"capgnn/internal/named"
	"capgnn/minibatch/rowcache"
	"capgnn/minibatch/sample"
)

// remote is a device whose memory is not the host's: one of the CPU that says so. What it was not given is NaN.
type remote struct{ gpu.Device }

func (d remote) Info() gpu.Info {
	i := d.Device.Info()
	i.Kind = gpu.CUDA
	return i
}

// remotes opens devices whose memory is not the host's.
func remotes(t testing.TB, n int, memory gpu.Bytes) []gpu.Device {
	t.Helper()
	out := devices(t, n, host.Spec{})
	for i := range out {
		if memory > 0 {
			d, err := host.Open(host.Spec{Name: fmt.Sprintf("cpu:%d", i), Threads: 1, Memory: memory, Poison: true})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { d.Close() })
			out[i] = d
		}
		out[i] = remote{out[i]}
	}
	return out
}

// none of the rows are resident.
var noneResident = CacheSize{Unit: CacheRows}

// How many rows are resident changes no bit and no count, whatever layer 0 reads, however others come, and in however many rounds; the more there are, the less is uploaded.
func TestResidentRowsChangeNoBit(t *testing.T) {
	sizes := []CacheSize{noneResident, {CacheShare, 0.4}, {CacheBytes, 1000}, {}}
	n := 0
	for _, kind := range kinds(t) {
		for layers := 1; layers <= 3; layers++ {
			for _, parts := range []int{1, 2} {
				n++
				p, m := task{cols: []int{20, 7, 33, 1}[n%4]}.make(t, kind)
				m.Layers = layers
				o := small(m, remotes(t, parts, 0), homes(p.Vertices(), parts))
				o.Epochs, o.Sampling.Fanout = 2, []int{4, 3, 2}[:layers]
				if n%2 == 0 || kind == named.SAGE {
					o.Sampling.Fanout[layers-1] = sample.All // ÂX; with GAT all neighbours
				}
				o.Sampling.Place = []Place{Batch, Home, Hop}[n%3]
				o.Sampling.NoMerge = o.Sampling.Place == Hop
				for i, rules := range []rowcache.Rules{{}, {Kind: rowcache.Planned, Lookahead: 2}} {
					o.Sampling.Fetch, o.Sampling.RowCache = rules, CacheSize{CacheShare, 0.3 * float64(i)}
					var want *Result
					for _, size := range sizes {
						name := fmt.Sprintf("%s, %d layers, %d parts, %d features, %v, %+v, %+v", kind, layers, parts, p.Features.Cols, o.Sampling.Place, rules, size)
						o.Sampling.Resident = size
						tr, err := New(t.Context(), p, o)
						if err != nil {
							t.Fatal(err)
						}
						for _, w := range tr.workers {
							r := w.stage.resident
							if (r != nil) != (size != noneResident) || r.all() && size != (CacheSize{}) {
								t.Errorf("%s: resident rows: %+v", name, r)
							} else if r != nil {
								r.area = min(r.area, 5) // so that others come in rounds
							}
						}
						got, err := tr.Run(t.Context())
						tr.Close()
						if err != nil {
							t.Fatal(err)
						}
						if want == nil {
							want = got
							continue
						}
						rows := got.Rows
						if whole := parts == 2 && i == 0 && size == (CacheSize{}) && want.Rows.Fetched > 0; whole != (rows.Fetched < want.Rows.Fetched) {
							t.Errorf("%s: %+v, want %+v", name, rows, want.Rows)
						} else if whole {
							rows.Hit, rows.Fetched = 0, rows.Hit // all are there
							if got.Bytes.Rows+got.Bytes.IDs+gpu.Bytes(got.Requests) != 0 {
								t.Errorf("%s: %d requests move %+v", name, got.Requests, got.Bytes)
							}
						} else if got.Bytes.Rows != want.Bytes.Rows || got.Requests != want.Requests {
							t.Errorf("%s: %d requests move %+v, want %d and %+v", name, got.Requests, got.Bytes, want.Requests, want.Bytes)
						}
						if got.WeightsSHA != want.WeightsSHA || !reflect.DeepEqual(got.Last, want.Last) || rows != want.Rows {
							t.Errorf("%s: %s, %+v; want %s, %+v", name, got.WeightsSHA, got.Rows, want.WeightsSHA, want.Rows)
						}
						if p.Features.Cols > 1 && size.Unit != CacheBytes && got.Usage.H2D >= want.Usage.H2D {
							t.Errorf("%s: %d bytes uploaded, %d without resident rows", name, got.Usage.H2D, want.Usage.H2D)
						}
					}
					if parts == 1 {
						break
					}
				}
			}
		}
	}
}

// A device keeps what memory leaves beside steps and evaluation: all rows of its part, those of the vertices with the most neighbours, or none. A plan says so, and holds.
func TestResidentRowsTakeWhatIsLeft(t *testing.T) {
	for _, kind := range []named.Kind{named.SAGE, named.GAT} {
		p, m := task{vertices: 2000, cols: 31}.make(t, kind)
		in := func(memory gpu.Bytes) Options {
			o := small(m, remotes(t, 2, memory), homes(p.Vertices(), 2))
			o.Sampling.Fanout[2], o.Epochs, o.Sampling.BatchSize = sample.All, 1, 20
			return o
		}
		o := in(0)
		o.Sampling.Resident = noneResident
		want := trained(t, p, o).WeightsSHA
		seen := map[string]bool{}
		last := gpu.Bytes(1) << 60
		for memory := gpu.Bytes(6 << 20); ; memory = memory * 31 / 32 {
			o := in(memory)
			plan, err := Plan(t.Context(), p, o)
			if err != nil {
				t.Fatal(err)
			}
			if !plan.Fits() {
				break
			}
			tr, err := New(t.Context(), p, o)
			if err != nil {
				t.Fatal(err)
			}
			r, kept := tr.workers[0].stage.resident, "none"
			switch own := len(o.Part) - remoteOf(&o, 0); {
			case r != nil && r.rows == own:
				kept = "all"
			case r != nil:
				kept = "some"
				for v, k := range r.row {
					if k < 0 && o.Part[v] == 0 && len(p.Graph.Row(v)) > least(p, r) {
						t.Errorf("%s: vertex %d of %d neighbours is not resident, one with fewer is", kind, v, len(p.Graph.Row(v)))
					}
				}
			}
			rows := gpu.Bytes(0)
			for _, u := range plan.Parts[0].Uses {
				if u.Name == "resident rows" {
					rows = u.Bound
				}
			}
			if rows > last || (rows == 0) != (r == nil) {
				t.Errorf("%s: %d bytes of rows in %d of memory, %d in more", kind, rows, memory, last)
			}
			last = rows
			if seen[kept] {
				tr.Close()
				continue
			}
			seen[kept] = true
			got, err := tr.Run(t.Context())
			tr.Close()
			if err != nil || got.WeightsSHA != want {
				t.Fatalf("%s in %d bytes: %v, %+v", kind, memory, err, got)
			}
			if peak, bound := got.PeakDevice[0], plan.Parts[0].Bound; peak > bound || float64(peak) < 0.8*float64(bound) {
				t.Errorf("%s: %d bytes taken, planned %d", kind, peak, bound)
			}
		}
		if len(seen) != 3 {
			t.Errorf("%s: resident were %v", kind, seen)
		}
	}
}

// least returns the fewest neighbours that a vertex has whose row is resident.
func least(p *learn.Problem, r *resident) int {
	n := p.Vertices()
	for v, k := range r.row {
		if k >= 0 {
			n = min(n, len(p.Graph.Row(v)))
		}
	}
	return n
}

// A device that has less memory than it says when a run is planned keeps no rows.
func TestResidentRowsWithoutMemory(t *testing.T) {
	p, m := task{}.make(t, named.GCN)
	o := small(m, remotes(t, 1, 0), nil)
	want := trained(t, p, o).WeightsSHA
	o.Devices = []gpu.Device{promising{o.Devices[0]}}
	tr, err := New(t.Context(), p, o)
	if err != nil {
		t.Fatal(err)
	}
	defer tr.Close()
	if got, err := tr.Run(t.Context()); err != nil || got.WeightsSHA != want || tr.workers[0].stage.resident != nil {
		t.Errorf("%v, %+v", err, got)
	}
}

// promising is a device without memory for resident rows.
type promising struct{ gpu.Device }

func (d promising) Alloc(n gpu.Bytes, name string) (gpu.Buffer, error) {
	if name == "resident rows" {
		return nil, &gpu.OutOfMemory{Device: d.Info().Name, Name: name, Need: n}
	}
	return d.Device.Alloc(n, name)
}

// A run goes on with other rows resident than before.
func TestResidentRowsAndResume(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	o := small(m, remotes(t, 2, 0), homes(p.Vertices(), 2))
	o.Sampling.Fanout[2] = sample.All
	want := trained(t, p, o)
	o.CheckpointDir, o.Resume, o.Identity = t.TempDir(), true, "id"
	for at, size := range []CacheSize{{}, noneResident, {CacheShare, 0.5}} {
		o.Sampling.Resident = size
		tr, err := New(t.Context(), p, o)
		if err != nil {
			t.Fatal(err)
		}
		stop := 4 * (at + 1)
		if at == 2 {
			stop = want.Steps + 1
		}
		got := interrupted(t, tr, &o, &stop)
		tr.Close()
		if at < 2 && got.Stopped != fit.Interrupted || at == 2 && got.WeightsSHA != want.WeightsSHA {
			t.Errorf("%d: stopped %q, %s, want %s", at, got.Stopped, got.WeightsSHA, want.WeightsSHA)
		}
	}
}
