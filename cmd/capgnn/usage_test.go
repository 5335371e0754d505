package main

import (
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/npy"
)

// Everything a user can get wrong ends with exit code 2 and one line that names what is wrong.
func TestWrongUsage(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	masked := newStore()
	masked["train_mask"] = npy.Entry{Data: slices.Repeat([]bool{true}, 60)}
	masked.write(s, "masked.npz")
	for name, content := range map[string]string{"bad.yaml": "epochs: many\n", "junk.npz": "PK\x03\x04 no zip", "profile.json": "{"} {
		if err := os.WriteFile(s.path(name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	with := func(args ...string) []string { return append([]string{"train", "--dataset", "ok.npz"}, args...) }
	for _, tc := range []struct {
		want string
		args []string
	}{
		{"nonsense", []string{"nonsense"}},
		{"help", []string{"help", "nonsense"}},
		{"nonsense", []string{"--nonsense"}},
		{"nonsense", with("--nonsense")},
		{"epochs", with("--epochs", "x")},
		{"epochs", with("--epochs")},
		{"epochs", with("--epochs", "-1")},
		{"epochs", with("--epochs", "1.5")},
		{"epochs", with("--epochs", "99999999999999999999")},
		{"amsgrad", with("--optimizer", "adam,amsgrad=maybe")},
		{"json", with("--json=maybe")},
		{"man --help", []string{"man", "--json"}},
		{"completion --help", []string{"completion", "bash", "--json"}},
		{"unexpected argument", with("more")},
		{"--isolated takes its value behind an equals sign: say --isolated=chunks=8", with("--isolated", "chunks=8")},
		{"unexpected argument", with("--isolated=chunks=8", "targets=both")},
		{"--dataset", []string{"train"}},
		{"nowhere", []string{"train", "--dataset", "nowhere"}},
		{"junk.npz", []string{"train", "--dataset", "junk.npz"}},
		{"model", with("--model", "mlp")},
		{"--layers ", with("--layers", "0")},
		{"--layers ", with("--layers", "1000000000")},
		{"--hidden ", with("--hidden", "0")},
		{"--hidden ", with("--hidden", "9000000000000000000")},
		{"--heads -1 is not in [1, 1048576]", with("--heads", "-1")},
		{"--teleport 7 is not in [0, 1]", with("--teleport", "7")},
		{"--theta -1 is not in [0, 1e6]", with("--model", "appnp", "--theta", "-1")},
		{"--hidden -5 is below 1", with("--model", "sgc", "--hidden", "-5")},
		{"--profile ", with("--profile", "nosuch")},
		{"make it with `capgnn data synth reddit-like --scale 0.02 --out NEW`", with("--dataset", "reddit-like:0.02")},
		{"heads", with("--model", "gat", "--hidden", "30", "--heads", "4")},
		{"--heads ", with("--model", "gat", "--heads", "0")},
		{"--dropout ", with("--dropout", "1")},
		{"--dropout ", with("--dropout", "NaN")},
		{"--lr ", with("--lr", "0")},
		{"--lr ", with("--lr", "Inf")},
		{"--weight-decay -1 ", with("--weight-decay", "-1")},
		{"optimizer", with("--optimizer", "lbfgs")},
		{"seed", with("--seed", "-1")},
		{"self-loops", with("--self-loops", "yes")},
		{"edges", with("--edges", "both")},
		{"split", with("--split", "1,1,1")},
		{"--dataset generated: has no numbered splits: there is no split 3", with("--dataset", "generated", "--split", "3")},
		{"--split", []string{"train", "--dataset", "masked.npz", "--split", "0.5,0.3,0.2"}},
		{"patience", with("--patience", "2", "--eval-every", "0")},
		{"partitioner", with("--partitioner", "metis")},
		{"parts", with("--parts", "-1")},
		{"parts", with("--parts", "61")},
		{"--batch-size", with("--batch-size", "-5")},
		{"batch-size", with("--batch-size", "many")},
		{"2 fan-outs for 3 layers", with("--batch-size", "8", "--fanout", "15,10")},
		{"--batch-size", with("--fanout", "15,10,5")},
		{"--batch-size", with("--sampling", "distdgl")},
		{"--batch-size", with("--checkpoint-every", "5steps")},
		{"checkpoint-every", with("--batch-size", "8", "--checkpoint-every", "5days")},
		{"drop --staleness 1", with("--batch-size", "8", "--staleness", "1")},
		{"drop --cache jaca: isolated parts train on whole chunks and exchange no rows", with("--isolated=chunks=3", "--cache", "jaca")},
		{"drop --order community", with("--batch-size", "8", "--order", "community")},
		{"drop --cache jaca", with("--batch-size", "8", "--cache", "jaca")},
		{"drop --cache none", with("--batch-size", "8", "--cache", "none")},
		{"drop --cache jaca --staleness 0", with("--batch-size", "8", "--cache", "jaca", "--staleness", "0")},
		{`"depth" is not one of its keys: roots, `, with("--batch-size", "8", "--sampling", "default,depth=3")},
		{"cuda:9", with("--devices", "cuda:9")},
		{"cache", with("--cache", "mru")},
		{"--cache gpu: ", with("--cache", "gpu=many")},
		{"--cache cpu: ", with("--cache", "cpu=120%")},
		{"--cache none", with("--cache", "none,gpu=20%")},
		{"--cache reserve-gpu: ", with("--cache", "reserve-gpu=5")},
		{"--cache reserve-cpu: ", with("--cache", "reserve-cpu=20%")},
		{"--cache topk=-1 is negative", with("--cache", "topk=-1")},
		{"--staleness", with("--staleness", "17")},
		{`--staleness pipeline="maybe" is not one of on, off`, with("--staleness", "pipeline=maybe")},
		{"--peer", with("--peer", "yes")},
		{"--halo-dtype", with("--halo-dtype", "fp8")},
		{"rtx9999", with("--devices", "sim:rtx9999")},
		{"simulated", []string{"profile", "--devices", "sim:rtx3090"}},
		{"threads", with("--devices", "cpu:threads=0")},
		{"--devices", with("--devices", "banana")},
		{"profile", with("--devices", "cpu:threads=1,cpu:threads=1,slow=2", "--profile", "nowhere.json")},
		{"profile", with("--devices", "cpu:threads=1,cpu:threads=1,slow=2", "--profile", "profile.json")},
		{"nowhere.npz", with("--init", "nowhere.npz")},
		{"junk.npz", with("--init", "junk.npz")},
		{"ok.npz", with("--init", "ok.npz")},
		{"bad.yaml", with("--config", "bad.yaml")},
		{"nowhere.yaml", with("--config", "nowhere.yaml")},
		{"--run-dir: ok.npz is a file, no folder: choose another place", with("--run-dir", "ok.npz")},
		{"--run-dir: ok.npz is a file, no folder: choose another place", with("--run-dir", "ok.npz/run")},
		{"--out: ok.npz is a file, no folder", []string{"bench", "halo", "--datasets", "ok.npz", "--out", "ok.npz"}},
		{"--out: ok.npz is a file, no folder", []string{"data", "synth", "flickr-like", "--out", "ok.npz/x"}},
		{"run-dir", with("--run-dir", "")},
		{"resume", []string{"train", "--resume", "nowhere"}},
		{"resume", []string{"train", "--resume", "."}},
		{"--config", []string{"train", "--resume", ".", "--config", "bad.yaml"}},
		{"cuda:x", []string{"profile", "--devices", "cuda:x"}},
		{"unexpected argument", []string{"version", "please"}},
	} {
		t.Run(strings.Join(tc.args, " "), func(t *testing.T) {
			inner := sandboxIn(t, s.Dir)
			args := tc.args
			if args[0] == "train" {
				args = slices.Insert(slices.Clone(args), 1, "--quiet")
			}
			inner.fails(term.ExitUsage, []string{tc.want}, args...)
		})
	}
	if entries, err := os.ReadDir(s.path("runs")); err == nil && len(entries) > 0 {
		t.Errorf("wrong usage left %d run folders, such as %s", len(entries), entries[0].Name())
	}
}

// No flag and no key of one has an empty value, whatever its command. In a config file an empty norm or activation is
// the default.
func TestEmptyValues(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	small := func(args ...string) []string {
		return append([]string{"--dataset", "ok.npz", "--hidden", "16", "--layers", "2"}, args...)
	}
	const advice = " is empty: give it a value, or leave it out"
	app := newApp(io.Discard, io.Discard)
	train := app.Commands[slices.IndexFunc(app.Commands, func(c *cli.Command) bool { return c.Name == "train" })]
	for _, f := range train.Flags {
		if name := f.Names()[0]; f.(cli.DocGenerationFlag).TakesValue() {
			s.fails(term.ExitUsage, []string{"train: --" + name + advice}, append(append([]string{"train"}, small()...), "--"+name+"=")...)
		}
	}
	for want, args := range map[string]string{
		"--metric best-by=":    "train --metric best-by=",
		"--cache reserve-gpu=": "train --cache gpu=1GiB,reserve-gpu=",
		"--optimizer":          "train --optimizer ,amsgrad=on",
		"--transport secret=":  "train --transport secret=",
		"--edges":              "data info ok.npz --edges=",
		"--drop":               "data tables --nodes ok.npz --drop=",
		"--plot":               "partition --dataset ok.npz --parts 2 --plot=",
		"--out":                "profile --out=",
		"--hosts":              "launch --hosts= -- train",
	} {
		s.fails(term.ExitUsage, []string{want + advice}, strings.Fields(args)...)
	}
	for _, words := range []string{"model check", "model show", "data info", "data import", "data fetch", "report", "completion"} {
		s.fails(term.ExitUsage, []string{words + ": an argument" + advice}, append(strings.Fields(words), "")...)
	}
	s.fails(term.ExitUsage, []string{"bench: a command" + advice}, "bench", "")
	s.fails(term.ExitUsage, []string{"--plot pictures/ names a folder: add how its files begin, as in pictures/parts"}, "partition", "--dataset", "ok.npz", "--parts", "2", "--plot", "pictures/")
	if term.Exists(s.path("runs")) {
		t.Error("wrong usage left run folders")
	}
	plain := s.train(small("--run-dir", "plain", "--epochs", "1")...)
	if err := os.WriteFile(s.path("empty.yaml"), []byte("dataset: ok.npz\nnorm: \"\"\nactivation: \"\"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if r := s.train("--config", "empty.yaml", "--hidden", "16", "--layers", "2", "--epochs", "1", "--run-dir", "file"); r.SHA256 != plain.SHA256 {
		t.Error("empty norm and activation in a config file: other weights")
	}
}

// Damaged and inconsistent data end with exit code 2 and one line that names the file.
func TestBadData(t *testing.T) {
	for name, change := range map[string]func(store){
		"column above the vertices": func(st store) { st["indices"].Data.([]int32)[3] = 60 },
		"column below 0":            func(st store) { st["indices"].Data.([]int32)[3] = -1 },
		"row pointers fall":         func(st store) { st["indptr"].Data.([]int64)[5] = 1 << 40 },
		"no row pointers":           func(st store) { st["indptr"] = npy.Entry{Data: []int64{}} },
		"NaN feature":               func(st store) { st["x"].Data.([]float32)[7] = float32(math.NaN()) },
		"infinite feature":          func(st store) { st["x"].Data.([]float32)[7] = float32(math.Inf(1)) },
		"label below -1":            func(st store) { st["y"].Data.([]int64)[7] = -2 },
		"huge label":                func(st store) { st["y"].Data.([]int64)[7] = 1 << 40 },
		"labels too few":            func(st store) { st["y"] = npy.Entry{Data: make([]int64, 59)} },
		"all unlabelled":            func(st store) { st["y"] = npy.Entry{Data: slices.Repeat([]int64{-1}, 60)} },
		"no training vertex":        func(st store) { st["train_mask"] = npy.Entry{Data: make([]bool, 60)} },
		"mask of another length":    func(st store) { st["train_mask"] = npy.Entry{Data: make([]bool, 61)} },
		"no features":               func(st store) { delete(st, "x") },
		"no labels":                 func(st store) { delete(st, "y") },
		"no graph":                  func(st store) { delete(st, "indices") },
	} {
		t.Run(name, func(t *testing.T) {
			s := newSandbox(t)
			st := newStore()
			change(st)
			st.write(s, "bad.npz")
			s.fails(term.ExitUsage, []string{"bad.npz"}, "train", "--dataset", "bad.npz", "--quiet")
		})
	}
}

// Wherever a file ends too early, the line names it and nothing panics.
func TestTruncatedData(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	whole, err := os.ReadFile(s.path("ok.npz"))
	if err != nil {
		t.Fatal(err)
	}
	for k := range 12 {
		if err := os.WriteFile(s.path("cut.npz"), whole[:len(whole)*k/12], 0o644); err != nil {
			t.Fatal(err)
		}
		s.fails(term.ExitUsage, []string{"cut.npz"}, "train", "--dataset", "cut.npz", "--quiet")
	}
}

func TestDoesNotFit(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.fails(term.ExitDoesNotFit, []string{"cpu:0", "--hidden"}, "train", "--quiet", "--dataset", "ok.npz", "--devices", "cpu:0,mem=20KiB", "--run-dir", "run")
	s.fails(term.ExitDoesNotFit, []string{"cpu:0", "mem="}, "train", "--quiet", "--dataset", "ok.npz", "--hidden", "8", "--devices", "cpu:0,mem=10KiB", "--run-dir", "run")
	if term.Exists(s.path("run")) {
		t.Error("a run that did not fit left its folder")
	}
}
