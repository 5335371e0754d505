package pipeline

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/gnn"
	"capgnn/graph"
	"capgnn/internal/checkpoint"
	"capgnn/internal/fit"
	"capgnn/internal/learn"
	"capgnn/internal/long"
	"capgnn/internal/named"
	"capgnn/internal/trainer"
	"capgnn/jaca"
)

// saving has rank 0 write checkpoints to a folder.
func saving(dir string, resume bool) func(rank int, o *Options) {
	return func(rank int, o *Options) {
		if rank == 0 {
			o.CheckpointDir, o.CheckpointEvery, o.CheckpointKeep, o.Resume, o.Identity = dir, 2, 9, resume, "run"
		}
	}
}

// contentOf returns what a checkpoint says that is the same in every run: all of it but times and bytes.
func contentOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	c, skipped, err := checkpoint.LoadLatest(dir)
	if err != nil || skipped != nil {
		t.Fatal(err, skipped)
	}
	defer c.Close()
	var s trainer.State
	if err := json.Unmarshal(c.State, &s); err != nil {
		t.Fatal(err)
	}
	s.Totals = Totals{}
	out := map[string]string{"counters": fmt.Sprint(c.Identity, c.Epoch, c.Step), "best": string(c.Best), "names": fmt.Sprint(slices.Sorted(maps.Keys(c.Sections)))}
	counted, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	out["state"] = string(counted)
	for name, x := range map[string]checkpoint.Section{"weights": c.Weights, "m": c.M, "v": c.V, "vmax": c.VMax, "best weights": c.BestWeights} {
		if x != nil {
			raw, err := io.ReadAll(x)
			if err != nil {
				t.Fatal(err)
			}
			out[name] = string(raw)
		}
	}
	return out
}

// behind copies the checkpoint behind two epochs to a folder of its own: the run was killed then.
func behind(t *testing.T, dir string) string {
	t.Helper()
	return copied(t, dir, 2)
}

// copied copies the checkpoint behind some epochs to a folder of its own.
func copied(t *testing.T, dir string, epoch int) string {
	t.Helper()
	name := fmt.Sprintf("epoch-%08d.ckpt", epoch)
	raw, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	if err := os.WriteFile(filepath.Join(to, name), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return to
}

// Whoever writes a checkpoint, one process or ranks, writes the same, and whoever resumes it has the bits of a run without a stop.
func TestRanksResumeAlike(t *testing.T) {
	optimizers := []gnn.Optimizer{{Kind: gnn.Adam, LR: 0.01}, {Kind: gnn.AdamW, LR: 0.01, WeightDecay: 0.1, AMSGrad: true}, {Kind: gnn.SGD, LR: 0.1}}
	order := []string{"alone", "2x2", "3+1", "4x1"}
	for turn, kind := range kinds(t) {
		for k, name := range []string{"none", "jaca"} {
			if k != turn%2 && !long.Wanted() {
				continue
			}
			t.Run(fmt.Sprintf("%s/%s", kind, name), func(t *testing.T) {
				turn := 2*turn + k
				c := farRun{sharing: turn%3 == 1}
				c.edit = func(p *learn.Problem, o *Options) {
					farEdits[name](p, o)
					o.Optimizer = optimizers[turn%len(optimizers)]
					switch turn % 4 {
					case 1:
						o.Task, o.Schedule, o.EvalEvery = weighed, fit.Schedule{Kind: fit.Plateau, Factor: 0.5, ByMetric: true}, 1
						o.Optimizer.Clip = 0.05
					case 3:
						o.Task, o.Schedule = learn.Labels{Metric: learn.MacroF1}, fit.Schedule{Kind: fit.Cosine, Warmup: 1}
					}
				}
				c.p, c.m = task{share: 0.4, vertices: 200, directed: turn%2 == 1}.make(t, kind)
				on := func(group string, dir string, resume bool) string {
					t.Helper()
					groups, ranks := groupings["1x4"], []Ranks(nil)
					if group != "alone" {
						groups = groupings[group]
						ranks = memoryRanks(t, len(groups), uint64(turn%2))
					}
					c.at = saving(dir, resume)
					got, err := c.train(t, groups, ranks)
					if err != nil {
						t.Fatalf("%s: %v", group, err)
					}
					if slices.ContainsFunc(got, func(s string) bool { return s != got[0] }) {
						t.Errorf("%s: ranks differ: %v", group, got)
					}
					return got[0]
				}
				var want string
				var saved map[string]string
				dirs := map[string]string{}
				for _, group := range order {
					dirs[group] = t.TempDir()
					got := on(group, dirs[group], false)
					stopped := contentOf(t, behind(t, dirs[group]))
					if group == "alone" {
						want, saved = got, stopped
					}
					if got != want {
						t.Errorf("%s: %s, alone %s", group, got, want)
					}
					compareContents(t, group, stopped, saved)
				}
				for k, writer := range order {
					reader := order[(k+1+turn%3)%4]
					to := behind(t, dirs[writer])
					if got := on(reader, to, true); got != want {
						t.Errorf("written by %s, resumed by %s: %s, without a stop %s", writer, reader, got, want)
					}
					compareContents(t, reader+" in the end", contentOf(t, to), contentOf(t, dirs["alone"]))
				}
			})
		}
	}
}

func compareContents(t *testing.T, who string, got, want map[string]string) {
	t.Helper()
	for name := range want {
		if got[name] != want[name] {
			if len(want[name]) > 300 {
				t.Errorf("%s: checkpoint: %s differs in %d bytes of %d", who, name, len(got[name]), len(want[name]))
			} else {
				t.Errorf("%s: checkpoint: %s %q, want %q", who, name, got[name], want[name])
			}
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: checkpoint has %d things, want %d", who, len(got), len(want))
	}
}

// Over connections, and with sections of several pieces.
func TestRanksResumeOverTCP(t *testing.T) {
	c := farRun{}
	c.p, c.m = task{share: 0.4, vertices: 60}.make(t, named.SAGE)
	c.m.Hidden, c.m.Layers = 400, 3 // 2.9 MB of weights
	dir := t.TempDir()
	c.at = saving(dir, false)
	want, err := c.train(t, groupings["1x4"], nil)
	if err != nil {
		t.Fatal(err)
	}
	to := t.TempDir()
	c.at = saving(to, false)
	if got, err := c.train(t, groupings["3+1"], connected(t, 2)); err != nil || got[0] != want[0] {
		t.Fatalf("%v, alone %v, %v", got, want, err)
	}
	compareContents(t, "3+1", contentOf(t, to), contentOf(t, dir))
	c.at = saving(behind(t, to), true)
	if got, err := c.train(t, groupings["4x1"], connected(t, 4)); err != nil || got[3] != want[0] {
		t.Fatalf("resumed: %v, alone %v, %v", got, want, err)
	}
}

// endingRank is a rank whose process ends with an error: the others hear of it.
type endingRank struct {
	*memoryRank
	done <-chan struct{}
	err  *error
}

func (r endingRank) Done() <-chan struct{} { return r.done }
func (r endingRank) Err() error            { return *r.err }

// What is wrong with checkpoints at rank 0 ends all ranks with that: a folder that cannot be written to, one of another run, a damaged file. Rank 0 does not
// wait for the others then, nor they for it.
func TestCheckpointFaultsOverRanks(t *testing.T) {
	full := "/dev/full/checkpoint" // no folder
	other := t.TempDir()
	if err := checkpoint.Save(other, &checkpoint.File{Identity: "another"}, 1); err != nil {
		t.Fatal(err)
	}
	for want, at := range map[string]func(rank int, o *Options){
		"not a directory":                saving(full, false),
		"a run of other data or options": saving(other, true),
	} {
		c := farRun{at: at}
		c.p, c.m = task{share: 0.4, vertices: 100}.make(t, named.GCN)
		c.edit = func(_ *learn.Problem, o *Options) { o.Cache.Policy = jaca.JACA }
		all, done := memoryRanks(t, 2, 0), make(chan struct{})
		var cause error
		for k := range all {
			all[k] = endingRank{all[k].(*memoryRank), done, &cause}
		}
		c.ends = func(rank int, err error) {
			if rank == 0 {
				cause = fmt.Errorf("rank 0 failed: %w", err)
				close(done)
			}
		}
		_, err := c.train(t, groupings["2x2"], all)
		var each interface{ Unwrap() []error }
		if !errors.As(err, &each) || len(each.Unwrap()) != 2 {
			t.Errorf("%s: %v", want, err)
			continue
		}
		for rank, err := range each.Unwrap() {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("rank %d: %v, want %s", rank, err, want)
			}
		}
	}
}

// A rank has the section that rank 0 reads to its end, in the same pieces, and rank 0 that of the last one.
func TestSectionsOfRanks(t *testing.T) {
	raw := bytes.Repeat([]byte("0123456789abcdef"), 3*checkpoint.Piece/16)
	for _, size := range []int{0, 1, checkpoint.Piece - 1, checkpoint.Piece, checkpoint.Piece + 1, len(raw)} {
		groups := groupings["3+1"]
		errs := eachRank(groups, 4, func(tr *Trainer, _ graph.Range) error {
			tr.Joined = true
			section := func(own bool) checkpoint.Section {
				if !own {
					return nil
				}
				return bytes.NewReader(raw[:size])
			}
			got, err := io.ReadAll(tr.Talk().Share(t.Context(), trainer.TagSection, section(tr.Options.Leads()), int64(size)))
			if err != nil || !bytes.Equal(got, raw[:size]) {
				return fmt.Errorf("%d bytes from rank 0, %v", len(got), err)
			}
			if !tr.Options.Leads() {
				return tr.Talk().Give(t.Context(), trainer.TagSection, section(true), int64(size), make([]byte, checkpoint.Piece))
			}
			got, err = io.ReadAll(tr.Talk().Section(t.Context(), trainer.TagSection, tr.o.Ranks.Ranks()-1, int64(size)))
			if err != nil || !bytes.Equal(got, raw[:size]) {
				return fmt.Errorf("%d bytes from the last rank, %v", len(got), err)
			}
			return nil
		})
		if err := errors.Join(errs...); err != nil {
			t.Errorf("%d bytes: %v", size, err)
		}
	}
}
