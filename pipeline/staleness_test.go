package pipeline

import (
	"fmt"
	"testing"

	"capgnn/gpu"
	"capgnn/hostmem"
	"capgnn/internal/named"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

// staleCase is a way to keep rows.
type staleCase struct {
	policy        jaca.Policy
	local, global string
	staleness     int
	pipeline      bool
	peers         bool
	halo          halo.Encoding
}

func (c staleCase) String() string {
	return fmt.Sprintf("%s/%s,%s/s=%d/pipeline=%t/peers=%t/%v", c.policy, c.local, c.global, c.staleness, c.pipeline, c.peers, c.halo)
}

func (c staleCase) cache(t testing.TB) halo.Options {
	size := func(s string) jaca.Size {
		v, err := jaca.ParseSize(s)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	return halo.Options{Policy: c.policy, Local: size(c.local), Global: size(c.global), Staleness: c.staleness, Pipeline: c.pipeline,
		HaloType: c.halo, Host: hostmem.LockOptions{Heap: true}}
}

func (c staleCase) devices(t *testing.T, n int) []gpu.Device {
	if c.peers {
		return cpus(t, n)
	}
	return islands(t, n)
}

// staleCases are combinations that between them use every way of a row.
func staleCases() []staleCase {
	var out []staleCase
	for _, policy := range []jaca.Policy{jaca.JACA, jaca.Paper, jaca.None} {
		for _, size := range [][2]string{{"auto", "auto"}, {"30%", "40%"}, {"0", "50%"}, {"50%", "0"}} {
			if policy == jaca.None && size[0] != "auto" {
				continue
			}
			for _, s := range []int{1, 2, 4} {
				for _, pipeline := range []bool{false, true} {
					for _, peers := range []bool{false, true} {
						out = append(out, staleCase{policy, size[0], size[1], s, pipeline, peers, halo.FP32})
					}
				}
			}
		}
	}
	return out
}

// kindOf returns the model that case n of a list is tried with.
func kindOf(n int) named.Kind { return named.Kinds[(n+n/4+n/16)%len(named.Kinds)] }

// staleValues returns the values of such cases, for takes.
func staleValues(cases []staleCase) [][]any {
	var out [][]any
	for n, c := range cases {
		out = append(out, []any{kindOf(n), c.policy, c.local + "," + c.global, c.staleness, c.pipeline, c.peers, c.halo})
	}
	return out
}

// Rows that are kept, cached on the host, sent ahead or sent at once: the weights are those of the plain truth, bit for bit.
func TestStaleRowsAreThoseOfTheSchedule(t *testing.T) {
	const parts, epochs = 3, 9
	cases := staleCases()
	for n, c := range staleCases() {
		if n%2 == 0 {
			c.halo = []halo.Encoding{halo.BF16, halo.Int8, halo.Int2}[n/2%3]
			cases = append(cases, c)
		}
	}
	taken := takes(t, 3, staleValues(cases))
	for n, c := range cases {
		if !taken[n] {
			continue
		}
		kind := kindOf(n)
		t.Run(fmt.Sprintf("%s/%v", kind, c), func(t *testing.T) {
			p, m := task{share: 0.2, directed: n%2 == 0}.make(t, kind)
			hashes := [2]string{}
			for k := range hashes {
				tr := newTrainer(t, p, m, c.devices(t, parts), scatterParts(p.Vertices(), parts), func(o *Options) {
					o.Epochs, o.Cache = epochs, c.cache(t)
				})
				if k == 1 {
					replaceByHistory(tr)
				}
				hashes[k] = run(t, tr).WeightsSHA
			}
			if hashes[0] != hashes[1] {
				t.Error("weights differ from those with the rows that the schedule names")
			}
		})
	}
}

// At staleness 0 nothing depends on what is kept where.
func TestExactWhateverIsCached(t *testing.T) {
	const parts = 4
	type exactCase struct {
		staleCase
		kind     named.Kind
		directed bool
	}
	var cases []exactCase
	var values [][]any
	for n, kind := range kinds(t) {
		for k, c := range staleCases() {
			if c.staleness > 1 {
				continue
			}
			c.staleness, c.halo = 0, halo.Encoding((k+n)%3)
			cases = append(cases, exactCase{c, kind, n%2 == 0})
			values = append(values, []any{kind, c.policy, c.local + "," + c.global, c.pipeline, c.peers, c.halo})
		}
	}
	train := func(c exactCase) string {
		p, m := task{share: 0.2, directed: c.directed}.make(t, c.kind)
		tr := newTrainer(t, p, m, c.devices(t, parts), scatterParts(p.Vertices(), parts), func(o *Options) { o.Epochs, o.Cache = 4, c.cache(t) })
		defer tr.Close()
		return run(t, tr).WeightsSHA
	}
	want := map[string]string{} // by model and encoding, without caches
	for i, taken := range takes(t, 3, values) {
		if !taken {
			continue
		}
		c, name := cases[i], fmt.Sprint(cases[i].kind, " ", cases[i].halo)
		if want[name] == "" {
			plain := c
			plain.policy, plain.peers = jaca.None, !c.peers
			want[name] = train(plain)
		}
		if train(c) != want[name] {
			t.Errorf("%s, %v: weights differ from those without caches", c.kind, c.staleCase)
		}
	}
}

// A part may read none of its halo rows in a layer in which others read some.
func TestPartThatReadsNothing(t *testing.T) {
	const parts = 3
	for _, kind := range kinds(t) {
		p, m := task{}.make(t, kind)
		m.Layers = 2
		alone, other := -1, -1 // vertices that train
		part := scatterParts(p.Vertices(), parts)
		for v := range p.Vertices() {
			switch {
			case p.Targets == nil && p.Labels[v] < 0:
			case alone < 0:
				alone, p.Train[v] = v, true
				for _, u := range p.Graph.Row(v) {
					part[u] = part[v]
				}
			case other < 0 && part[v] != part[alone]:
				other, p.Train[v] = v, true
			}
		}
		hashes := map[string]bool{}
		for _, policy := range []jaca.Policy{jaca.None, jaca.JACA, jaca.Paper} {
			for _, c := range []staleCase{{policy, "auto", "auto", 0, true, true, halo.FP32}, {policy, "0", "auto", 0, true, false, halo.FP32}, {policy, "auto", "0", 0, true, false, halo.FP32}} {
				tr := newTrainer(t, p, m, c.devices(t, parts), part, func(o *Options) { o.Epochs, o.Cache = 3, c.cache(t) })
				hashes[run(t, tr).WeightsSHA] = true
			}
		}
		if len(hashes) != 1 {
			t.Errorf("%v: %d different weights", kind, len(hashes))
		}
	}
}
