package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/long"
	"capgnn/internal/npy"
)

// anyFlags is a random data set with random flags. wrong says why the command must refuse them, "" if it must not.
type anyFlags struct {
	*rand.Rand
	n       int
	sampled bool
	args    []string
	wrong   string
}

func drawn[T any](d *anyFlags, of ...T) T { return of[d.IntN(len(of))] }

// data writes a small store: few edges, loops, repeats, isolated vertices.
func (d *anyFlags) data(t *testing.T, path string) {
	d.n = drawn(d, 1, 2, 3, 7, 20, 50)
	classes, cols, edges := 1+d.IntN(3), 1+d.IntN(5), d.IntN(3*d.n)
	indptr, indices := []int64{0}, []int32{}
	x, y, train := make([]float32, d.n*cols), make([]int64, d.n), make([]uint8, d.n)
	for v := range d.n {
		for range d.IntN(2 * (edges/d.n + 1)) {
			indices = append(indices, int32(d.IntN(d.n)))
		}
		indptr = append(indptr, int64(len(indices)))
		y[v], train[v] = int64(d.IntN(classes)), uint8(d.IntN(2))
	}
	for i := range x {
		x[i] = float32(d.NormFloat64())
	}
	train[0] = 1
	if d.IntN(12) == 0 {
		clear(train)
		d.wrong = "nothing trains"
	}
	entries := []npy.Entry{{Key: "indptr", Data: indptr}, {Key: "indices", Data: indices}, {Key: "x", Shape: []int{d.n, cols}, Data: x}, {Key: "y", Data: y}, {Key: "train_mask", Data: train}}
	if err := npy.WriteArchiveFile(path, entries, npy.Archiving{}); err != nil {
		t.Fatal(err)
	}
}

// draw draws flags.
func (d *anyFlags) draw(path string) {
	set := func(name string, value any) { d.args = append(d.args, fmt.Sprintf("--%s=%v", name, value)) }
	kind, parts, layers := drawn(d, "gcn", "sage", "gin", "gat"), 1+d.IntN(d.n+2), 1+d.IntN(3)
	d.args = []string{"capgnn", drawn(d, "train", "train", "plan"), "--quiet"}
	set("dataset", path)
	set("model", kind)
	set("parts", parts)
	set("layers", layers)
	set("residual", layers > 2 && parts%2 == 0)
	set("hidden", 12)
	set("heads", drawn(d, 1, 2, 3))
	set("epochs", d.IntN(4))
	set("devices", drawn(d, "cpu:threads=1", "cpu:threads=1,cpu:threads=1"))
	set("partitioner", drawn(d, "multilevel", "streaming", "random"))
	set("self-loops", drawn(d, "auto", "add", "keep", "remove"))
	if parts > d.n && d.wrong == "" {
		d.wrong = "more parts than vertices"
	}
	if d.sampled {
		d.drawSampled(layers)
		return
	}
	set("peer", drawn(d, "on", "off"))
	set("halo-dtype", drawn(d, "fp32", "bf16", "int8", "int2"))
	policy := drawn(d, "jaca", "paper", "none")
	if set("cache", policy); policy != "none" {
		set("cache", "gpu="+drawn(d, "auto", "0", "2", "30%"))
		set("cache", "cpu="+drawn(d, "auto", "0", "2", "30%"))
	}
	if kind != "gat" {
		set("staleness", drawn(d, "0", "1", "4"))
	}
}

// drawSampled draws flags of sampled training.
func (d *anyFlags) drawSampled(layers int) {
	set := func(name string, value any) { d.args = append(d.args, fmt.Sprintf("--%s=%v", name, value)) }
	set("batch-size", drawn(d, 1, 2, 5, 1000))
	set("sampling", drawn(d, "default", "distdgl", "default,roots=local,prefetch=1", "distdgl,roots=global,prefetch=64", "hopgnn", "hopgnn,merge=off,gather=off", "default,place=batch",
		"rapidgnn", "massivegnn,delta=3", "default,fetch=planned,lookahead=all", "default,fetch=rapid,pull=off"))
	set("checkpoint-every", drawn(d, "0", "1", "1steps", "3steps"))
	set("eval-every", d.IntN(3))
	if d.IntN(2) == 0 {
		var fanout []string
		for range layers + max(0, d.IntN(8)-6) {
			fanout = append(fanout, drawn(d, "1", "2", "600", "all"))
		}
		if len(fanout) != layers && d.wrong == "" {
			d.wrong = "a fan-out too many"
		}
		set("fanout", strings.Join(fanout, ","))
	}
	if d.IntN(4) == 0 { // the last one is all, which every model takes
		set("fanout", "eval="+strings.Repeat("2,", layers-1)+"all")
	}
	if wrong := drawn(d, "staleness=1", "cache=none", "order=community", "cost=move=off", "halo-dtype=int8", "prune=0.5"); d.IntN(10) == 0 {
		d.args = append(d.args, "--"+wrong)
		d.wrong = "of full-batch training"
	}
}

// Any flags on any small graph, as many parts as vertices and more: a command does what it is to do, or says in one line why not,
// with the exit code of wrong usage.
func TestAnyFlags(t *testing.T) { tryAnyFlags(t, false) }

// So do those of sampled training.
func TestAnySampledFlags(t *testing.T) { tryAnyFlags(t, true) }

func tryAnyFlags(t *testing.T, sampled bool) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, dir)
	}
	var out, errs bytes.Buffer
	if code := run([]string{"capgnn", "profile", "--quick", "--quiet", "--devices", "cpu:threads=1,cpu:threads=1"}, &out, &errs); code != term.ExitDone {
		t.Fatal(errs.String())
	}
	for k := range 600 {
		if !long.Nth(t, map[bool]int{false: 50, true: 120}[sampled], k) {
			continue
		}
		t.Run(fmt.Sprint(k), func(t *testing.T) {
			d := &anyFlags{Rand: rand.New(rand.NewPCG(uint64(k), 4)), sampled: sampled}
			path := filepath.Join(dir, "data.npz")
			d.data(t, path)
			d.draw(path)
			out.Reset()
			errs.Reset()
			code := run(d.args, &out, &errs)
			line := strings.TrimSuffix(errs.String(), "\n")
			switch {
			case d.wrong == "" && code != term.ExitDone:
				t.Errorf("exit code %d: %s\n%v", code, line, d.args)
			case d.wrong != "" && (code != term.ExitUsage || !strings.HasPrefix(line, "capgnn: ") || strings.Contains(line, "\n")):
				t.Errorf("%s: exit code %d, %q\n%v", d.wrong, code, line, d.args)
			}
		})
	}
}
