package runfolder

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gnn"
)

// unusual has no option at its default.
func unusual() Config {
	c := Config{
		Dataset: "a: b #c", DatasetPath: "/data/1e5", Edges: "reversed", IgnoreWeights: true, Standardize: "none", SelfLoops: "keep",
		Model: "gat", Layers: 2, Hidden: 24, Heads: 3, Norm: "none", Activation: "elu", JK: "cat", Residual: true, DropFeatures: true, Dropout: 0.1, AttentionDropout: 0.25, Init: "w.npz", Epochs: 7, BegunEpochs: 5, LR: 1e-7, Optimizer: "sgd",
		WeightDecay: WeightDecay{5e-4, []gnn.NamedDecay{{Of: "lins", Decay: 0}, {Of: "convs.0", Decay: 1.0 / 3}}}, AMSGrad: true, LabelSmoothing: 0.125, ClipNorm: 2, Seed: 1<<64 - 1, EvalEvery: 1, Patience: 3, Positive: "fraud", Devices: "cpu:0,threads=1,cpu:threads=2",
		Parts: 5, Partitioner: "random", Profile: "p.json", Targets: "0.1,0.9", CheckpointEvery: Cadence{Steps: 4}, BatchSize: 512,
		Objective: "volume", Balance: 1.5, BalanceBy: "edges", Cost: "time", MaxPrune: 0.25, Prune: 0.5, PruneScore: "influence",
		Alpha: 0.35, Plan: "p.plan", PlanKey: "abc", TF32: true,
		Cache: "paper", CacheTopK: 9,
		Pipeline: "off", Peer: "off",
		AllowOverlap: true, DataSHA256: "1234567890123456789012345678901234567890123456789012345678901234",
		ModelSHA256: "4321",
	}
	for name, text := range map[string]string{"split": "0.6,0.2,0.2", "cache.gpu": "20%", "cache.cpu": "2GiB", "cache.reserve-gpu": "1MiB", "cache.reserve-cpu": "2MiB",
		"staleness": "8", "staleness.exact": "11", "halo-dtype": "bf16", StaleLayers: "1", CacheLayers: "none", "cache-slots": "3,4,5", "cache-links": "1:2,3:4",
		"fanout": "15,all", "fanout.eval": "9,all", "sampling": "distdgl,fetch=rapid,cache=15%,prefetch=2", "merged": "2", "isolated": "chunks=5,targets=both", "machines": "2,3", scheduleOption: "step,every=7", classWeights: "1,0.25",
		"machines.net": "1Gbit/s"} {
		c.Set(name, text)
	}
	return c
}

func TestConfigFileSaysEverything(t *testing.T) {
	for name, want := range map[string]Config{"defaults": Default(), "unusual": unusual()} {
		data, err := FormatConfig(&want)
		if err != nil {
			t.Fatal(err)
		}
		got := Config{}
		for _, o := range Options { // which the files of full-batch runs leave out
			if !o.Says(&want) {
				o.Set(&got, fmt.Sprint(o.Value(&want)))
			}
		}
		if err := ParseConfig(data, &got); err != nil {
			t.Fatalf("%s: %v in\n%s", name, err, data)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v from\n%s", name, got, want, data)
		}
	}
	// The test is worth something only if no option of unusual is at its default.
	d, u := Default(), unusual()
	for _, o := range Options {
		if o.Value(&d) == o.Value(&u) {
			t.Errorf("option %s is at its default %v in both", o.Name, o.Value(&u))
		}
	}
}

func TestConfigFileKeepsWhatItDoesNotSay(t *testing.T) {
	cfg := Default()
	if err := ParseConfig([]byte("epochs: 3\nlr: null\nseed: 5\nsplit: 0.5,0.25,0.25\n"), &cfg); err != nil {
		t.Fatal(err)
	}
	want := Default()
	want.Epochs, want.Seed = 3, 5
	want.Set("split", "0.5,0.25,0.25")
	if !reflect.DeepEqual(cfg, want) {
		t.Errorf("got %+v, want %+v", cfg, want)
	}
}

// The file of a run says everything: one that lacks a setting, or has one that is none, is of another version.
func TestConfigOfRunIsWhole(t *testing.T) {
	for name, cfg := range map[string]Config{"full batch": Default(), "sampled": sampledBy()} {
		data, err := FormatConfig(&cfg)
		if err != nil {
			t.Fatal(err)
		}
		d := Dir(t.TempDir())
		read := func(data string) error {
			if err := os.WriteFile(d.Config(), []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
			got := Default()
			return d.ReadConfig(&got)
		}
		if err := read(string(data)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		lines := strings.SplitAfter(string(data), "\n")
		for i, line := range lines[1 : len(lines)-1] {
			key, _, _ := strings.Cut(line, ":")
			err := read(strings.Join(slices.Delete(slices.Clone(lines), i+1, i+2), ""))
			if key != "batch-size" && (term.ExitCode(err) != term.ExitUsage || !strings.Contains(err.Error(), "no key "+key+": ")) {
				t.Errorf("%s without %s: %v", name, key, err)
			}
		}
		if err := read(string(data) + "no-such: false\n"); term.ExitCode(err) != term.ExitUsage || !strings.Contains(err.Error(), `no option "no-such"`) {
			t.Errorf("%s with a key of another version: %v", name, err)
		}
	}
}

func TestConfigFileRefuses(t *testing.T) {
	for _, text := range []string{
		"epochs: 1.5", "epochs: x", "epochs: [1]", "epochs: {a: 1}", "seed: -1", "seed: 99999999999999999999", "optimizer: adam,amsgrad=maybe",
		"unknown: 1", "- 1", "epochs: 1\nepochs: 2", "epochs: [1", "lr: {", "epochs: 1\n---\nlr: 1", "\x00", "a",
		"epochs: " + strings.Repeat("[", maxConfigNesting+1), strings.Repeat("- ", maxConfigNesting+1), "# " + strings.Repeat("x", maxConfigBytes) + "\nepochs: 1",
	} {
		cfg := Default()
		err := ParseConfig([]byte(text), &cfg)
		if err == nil {
			t.Errorf("%q is accepted as %+v", text, cfg)
		} else if strings.Contains(term.OneLine(err), "\n") {
			t.Errorf("%q: error of several lines: %v", text, err)
		}
	}
}

// Editors put a byte order mark first, and tools --- before and behind.
func TestConfigFileOfOtherEditors(t *testing.T) {
	for _, text := range []string{"\xef\xbb\xbfepochs: 7\n", "---\nepochs: 7\n", "epochs: 7\n---\n", "\xef\xbb\xbf---\nepochs: 7\n...\n"} {
		cfg := Default()
		if err := ParseConfig([]byte(text), &cfg); err != nil || cfg.Epochs != 7 {
			t.Errorf("%q: %d epochs, %v", text, cfg.Epochs, err)
		}
	}
}

func TestReadConfigBoundsItsSize(t *testing.T) {
	path := filepath.Join(t.TempDir(), "big.yaml")
	if err := os.WriteFile(path, make([]byte, maxConfigBytes+1), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg := Default()
	if err := ReadConfig(path, &cfg); term.ExitCode(err) != term.ExitUsage {
		t.Errorf("error %v, want a usage error", err)
	}
}

func FuzzParseConfig(f *testing.F) {
	cfg := unusual()
	data, err := FormatConfig(&cfg)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte("epochs: 3"))
	f.Add([]byte("&a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg := Default()
		if ParseConfig(data, &cfg) != nil {
			return
		}
		again, err := FormatConfig(&cfg)
		if err != nil {
			t.Fatal(err)
		}
		var back Config
		if err := ParseConfig(again, &back); err != nil {
			t.Fatalf("written config does not read: %v in\n%s", err, again)
		}
	})
}

func TestValidate(t *testing.T) {
	ok := Default()
	ok.Dataset = "cora"
	if err := ok.Validate(); err != nil {
		t.Fatalf("defaults: %v", err)
	}
	for want, change := range map[string]func(*Config){
		"--dataset is missing":           func(c *Config) { c.Dataset = "" },
		"--edges":                        func(c *Config) { c.Edges = "both" },
		"--standardize":                  func(c *Config) { c.Standardize = "all" },
		"--self-loops":                   func(c *Config) { c.SelfLoops = "yes" },
		"--partitioner":                  func(c *Config) { c.Partitioner = "metis" },
		"--partitioner objective=volume": func(c *Config) { c.Partitioner, c.Objective = "random", "volume" },
		"--epochs":                       func(c *Config) { c.Epochs = -1 },
		"--parts":                        func(c *Config) { c.Parts = 1 << 20 },
		"--patience":                     func(c *Config) { c.Patience, c.EvalEvery = 2, 0 },
		"--split":                        func(c *Config) { c.Set("split", "0.5,0.5,0.5") },
		"model":                          func(c *Config) { c.Model = "mlp" },
		"multiple":                       func(c *Config) { c.Model, c.Hidden, c.Heads = "gat", 30, 4 },
		"dropout":                        func(c *Config) { c.Dropout = 1 },
		"--attention-dropout 1":          func(c *Config) { c.Model, c.AttentionDropout = "gat", 1 },
		"--attention-dropout 0.5: --model gcn has no attention: drop it, or train gat": func(c *Config) { c.AttentionDropout = 0.5 },
		"--lr ":                func(c *Config) { c.LR = 0 },
		"optimizer":            func(c *Config) { c.Optimizer = "lbfgs" },
		"layers":               func(c *Config) { c.Layers = 0 },
		"--staleness layers":   func(c *Config) { c.Set("staleness", "4"); c.Set(StaleLayers, "0") },
		"3 layers is layer 2":  func(c *Config) { c.Set("staleness", "4"); c.Set(StaleLayers, "1,3") },
		"--staleness":          func(c *Config) { c.Set(StaleLayers, "1") },
		"config: cache-layers": func(c *Config) { c.Set(CacheLayers, "all") },
	} {
		c := ok
		change(&c)
		err := c.Validate()
		if term.ExitCode(err) != term.ExitUsage || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), begunEpochs) {
			t.Errorf("want a usage error with %q and of no setting that is right, got %v", want, err)
		}
	}
}
