package experiments

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/formats"
	"capgnn/hostmem"
	"capgnn/internal/bench"
	"capgnn/minibatch/sample"
)

// samplerExperiment is docs/bench/sampled.md: block stacks per processor second, on one and on two goroutines, beside DGL's.
func samplerExperiment() Experiment {
	return Experiment{Name: "sampler", Usage: "processor time per sampled edge, on one and two goroutines; compared with dgl if --python has it",
		full: []string{"products-like:0.4", "reddit-like:0.1"}, quick: []string{"reddit-like:0.02"}, plan: planSampler}
}

// drawing is what is drawn: stacks of so many roots.
type drawing struct {
	batch  int
	fanout []int
}

func (d drawing) text() string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(d.fanout), " ", ","), "[]")
}

var drawings = []drawing{{1024, []int{15, 10, 5}}, {1000, []int{10, 25}}}

// Who draws, in the order in which they take turns.
const (
	oneSampler  = "1 sampler"
	twoSamplers = "2 samplers"
	dglSampler  = "dgl"
)

var samplerPeer = baseline{name: dglSampler, script: "dgl_sampler.py"}

func planSampler(b *Bench, datasets []string) ([]cell, func() bench.Section, error) {
	who, rounds, steps := []string{oneSampler, twoSamplers}, 7, 15
	if b.opt.Quick {
		rounds, steps = 2, 4
	}
	if b.opt.Python != "" {
		there, err := b.drawsWithDGL()
		if err != nil {
			return nil, nil, err
		}
		if there {
			who = append(who, dglSampler)
		}
	}
	id := func(data string, d drawing, name string, round int) bench.Cell {
		c := bench.Cell{"kind": "sampler", "dataset": data, "fanout": d.text(), "batch": strconv.Itoa(d.batch), "who": name, "round": strconv.Itoa(round), "steps": strconv.Itoa(steps)}
		if name == dglSampler {
			c["python"] = b.opt.Python
		}
		return c
	}
	var cells []cell
	for round := range rounds {
		for _, data := range datasets {
			for _, d := range drawings {
				for _, name := range who {
					cells = append(cells, cell{id(data, d, name, round), func(ctx context.Context) (*bench.Line, error) {
						switch name {
						case dglSampler:
							return b.dglStacks(ctx, data, d, steps)
						case twoSamplers:
							return b.ourStacks(ctx, data, d, steps, 2)
						}
						return b.ourStacks(ctx, data, d, steps, 1)
					}})
				}
			}
		}
	}
	return cells, func() bench.Section { return b.showSampler(datasets, who, rounds, id) }, nil
}

// drawsWithDGL reports whether the interpreter runs the script, with a note where it does not.
func (b *Bench) drawsWithDGL() (bool, error) {
	scripts, err := unpackScripts()
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(scripts.folder)
	text, err := exec.Command(b.opt.Python, scripts.path(samplerPeer), "--help").CombinedOutput()
	if err != nil {
		b.k.Note("note: peers: without dgl: %s", lastLine(text, err))
	}
	return err == nil, nil
}

// ourStacks draws steps, after as many that do not count, by this many samplers at once.
func (b *Bench) ourStacks(ctx context.Context, data string, d drawing, steps, samplers int) (*bench.Line, error) {
	path, err := b.store(ctx, data)
	if err != nil {
		return nil, err
	}
	set, err := formats.Load(path, dataset.Options{})
	if err != nil {
		return nil, term.AsUsage(err)
	}
	g := set.Graph
	vertices := make([]graph.NodeID, g.Rows())
	for v := range vertices {
		vertices[v] = graph.NodeID(v)
	}
	seed := b.opt.Seeds[0]
	run := stacks{order: sample.Order(vertices, seed, 0, nil), batch: min(d.batch, len(vertices))}
	for range samplers {
		run.samplers = append(run.samplers, sample.New(sample.Topology{Graph: g, Loops: graph.LoopsRemoved}, sample.Rules{Seed: seed, Fanout: d.fanout}))
	}
	run.stacks = make([]sample.Stack, samplers)
	run.draw(0, steps)
	runtime.GC() // what loading left is not to be collected while steps are timed
	start := hostmem.ProcessorTime()
	edges, rows := run.draw(steps, 2*steps)
	l := newLine()
	l.Values["cpu_s"] = (hostmem.ProcessorTime() - start).Seconds()
	l.Values["edges"], l.Values["rows"], l.Values["steps"] = float64(edges), float64(rows), float64(steps)
	return l, set.Close()
}

// stacks are samplers that share the steps.
type stacks struct {
	order    []graph.NodeID
	batch    int
	samplers []*sample.Sampler
	stacks   []sample.Stack // of each sampler
}

// draw draws steps from to to-1 and returns their edges and ids.
func (s *stacks) draw(from, to int) (edges, rows int64) {
	var all sync.WaitGroup
	var sum sync.Mutex
	epoch := len(s.order) / s.batch
	for i, sampler := range s.samplers {
		all.Go(func() { // ends by itself; draw waits
			st := &s.stacks[i]
			var e, r int64
			for step := from + i; step < to; step += len(s.samplers) {
				at := step % epoch * s.batch
				sampler.Draw(st, uint32(step), s.order[at:at+s.batch])
				e += st.Edges
				r += int64(len(st.IDs))
			}
			sum.Lock()
			edges, rows = edges+e, rows+r
			sum.Unlock()
		})
	}
	all.Wait()
	return edges, rows
}

// dglStacks runs the script on the same graph.
func (b *Bench) dglStacks(ctx context.Context, data string, d drawing, steps int) (*bench.Line, error) {
	var result struct {
		Versions map[string]string `json:"versions"`
		CPU      float64           `json:"cpu_s"`
		Edges    float64           `json:"edges"`
		Rows     float64           `json:"rows"`
	}
	err := b.runPeer(ctx, data, samplerPeer, &result, "--batch-size", strconv.Itoa(d.batch), "--fanout", d.text(),
		"--steps", strconv.Itoa(steps))
	if err != nil {
		return nil, err
	}
	if result.Edges == 0 {
		return nil, fmt.Errorf("dgl on %s: its last line is no result", data)
	}
	l := newLine()
	l.Text = result.Versions
	l.Values["cpu_s"], l.Values["edges"], l.Values["rows"], l.Values["steps"] = result.CPU, result.Edges, result.Rows, float64(steps)
	return l, nil
}

// perEdge returns nanoseconds of processor time per edge.
func perEdge(l *bench.Line) float64 {
	return 1e9 * l.Value("cpu_s") / math.Max(1, l.Value("edges"))
}

func (b *Bench) showSampler(datasets, who []string, rounds int, id func(string, drawing, string, int) bench.Cell) bench.Section {
	s := bench.Section{Title: "Sampling", Text: []string{fmt.Sprintf("Processor time (user and system, of the whole process) per sampled edge, blocks included: median of %d rounds in which all take turns. Roots are all vertices in random order; loops are left out. Ratios are medians of the ratios of a round.", rounds)}}
	t := bench.Table{Columns: []string{"data set", "roots", "fan-out", "edges a step", "rows a step"}}
	for _, name := range who {
		t.Columns = append(t.Columns, name+", ns an edge")
	}
	t.Columns = append(t.Columns, "2 samplers / 1")
	if len(who) > 2 {
		t.Columns = append(t.Columns, "dgl / 1 sampler")
	}
	panel := bench.Panel{Title: "processor time of a sampled edge", Y: "time, ns"}
	for _, name := range who {
		panel.Series = append(panel.Series, bench.Series{Name: name})
	}
	logs, count := 0.0, 0
	for _, data := range datasets {
		for _, d := range drawings {
			times := make([][]float64, len(who))
			for i, name := range who {
				for round := range rounds {
					times[i] = append(times[i], perEdge(b.line(id(data, d, name, round))))
				}
				panel.Series[i].Y = append(panel.Series[i].Y, medianOf(times[i]))
			}
			panel.Groups = append(panel.Groups, shortDataset(data)+" "+d.text())
			l := b.line(id(data, d, oneSampler, 0))
			steps := math.Max(1, l.Value("steps"))
			row := []string{shortDataset(data), strconv.Itoa(d.batch), d.text(), fmt.Sprintf("%.0f", l.Value("edges")/steps), fmt.Sprintf("%.0f", l.Value("rows")/steps)}
			for i := range who {
				row = append(row, fmt.Sprintf("%.1f", medianOf(times[i])))
			}
			for i := 1; i < len(who); i++ {
				pairs := make([]float64, rounds)
				for round := range pairs {
					pairs[round] = times[i][round] / math.Max(1e-3, times[0][round])
				}
				row = append(row, fmt.Sprintf("%.2f", medianOf(pairs)))
				if who[i] == dglSampler {
					logs, count = logs+math.Log(math.Max(1e-9, medianOf(pairs))), count+1
				}
			}
			t.Add(row...)
		}
	}
	if count > 0 {
		s.Text = append(s.Text, fmt.Sprintf("In geometric mean dgl takes %.2f times the processor time of one sampler.", math.Exp(logs/float64(count))))
	}
	s.Tables, s.Figures = []bench.Table{t}, []bench.Figure{{Title: "Sampling", Panels: []bench.Panel{panel}}}
	return s
}
