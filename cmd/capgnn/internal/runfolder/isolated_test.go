package runfolder

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"capgnn/internal/named"
)

// What --isolated does not take, and what does not go with it, is one line that says what to drop.
func TestIsolatedSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"chunks=1": "in [2,", "chunks=-3": "in [2,", "chunks=two": "in [2,", "chunks": "KEY=VALUE", "targets=all": "base, both", "correction=nod": "did you mean node?",
		"layers=outer": "inner, all", "size=3": "is not one of its keys: chunks, phases, targets, correction, layers", "chunks=4,chunks=5": "chunks stands there twice", ",": "KEY=VALUE",
		"8": `"8" is not a KEY=VALUE, such as chunks=8`,
	} {
		c := Default()
		c.Dataset = "d"
		if err := options(&c, map[string]string{"isolated": text}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--isolated=%s: %v, want %q", text, err, want)
		}
	}
	for name, more := range map[string]map[string]string{
		"--cache none": {"cache": "none"}, "--staleness 2": {"staleness": "2"}, "--sampling hopgnn": {"batch-size": "9", "sampling": "hopgnn"}, "--sampling default,cache=5%": {"batch-size": "9", "sampling": "default,cache=5%"},
		"--prune 0.1": {"prune": "0.1"}, "--halo-dtype int8": {"halo-dtype": "int8"}, "--parts 3": {"parts": "3"},
		"weighs edges": {"model": "gat", "isolated": "correction=longrun"}, "--storage fp32": {"storage": "bf16", "isolated": "correction=node"},
	} {
		c := Default()
		c.Dataset = "d"
		said := map[string]string{"isolated": "chunks=4"}
		for k, v := range more {
			said[k] = v
		}
		if err := options(&c, said); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v: %v, want %q", said, err, name)
		}
	}
	for _, text := range []string{"", "true", "false", "chunks=4,targets=both,correction=inclusion,layers=all"} {
		c := Default()
		c.Dataset = "d"
		if err := options(&c, map[string]string{"isolated": text}); err != nil {
			t.Errorf("--isolated=%s: %v", text, err)
		}
	}
}

// Who does what the line of a model's file says is not refused for the model again, and no flag is blamed for what the
// file says.
func TestIsolatedAdviceOfModelFiles(t *testing.T) {
	files, err := filepath.Glob("../../../../testdata/models/*.json")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	advised := 0
	for _, k := range named.Kinds { // as files that drop features
		p, err := named.Model{Kind: k, Layers: 2, Hidden: 8, Heads: 2, In: 3, Out: 2, Dropout: 0.5, DropFeatures: k.Norms(), Alpha: 0.1, Theta: 0.5}.Build()
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Join(t.TempDir(), string(k)+".json"))
		if err := os.WriteFile(files[len(files)-1], p.JSON(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range files {
		c := Default()
		c.Dataset, c.Model = "d", file
		if err := c.readModel(file); err != nil {
			t.Fatal(err)
		}
		err := options(&c, map[string]string{isolated: "chunks=4"})
		if err == nil {
			continue
		}
		if text := err.Error(); !strings.Contains(text, "--model "+file) || strings.Contains(text, "--"+dropFeaturesOption) {
			t.Errorf("%s: %v", file, err)
		}
		says := strings.Contains(err.Error(), "say layers=all")
		if says {
			advised++
		}
		if err := options(&c, map[string]string{isolated: "chunks=4,layers=all"}); (err == nil) != says || says && c.AnyNetwork().Sums() != nil {
			t.Errorf("%s: with layers=all: %v; that was advised: %t", file, err, says)
		}
	}
	if advised < 5 {
		t.Errorf("layers=all is advised for %d files only", advised)
	}
}

// options sets options and validates.
func options(c *Config, said map[string]string) error {
	for name, text := range said {
		c.Set(name, text)
	}
	return c.Validate()
}

// Too many parts are named by the flag that asked for them.
func TestPartsThatNoVertexIsFor(t *testing.T) {
	for parts, want := range map[int]string{0: "--devices: 3 devices for 2 vertices", 3: "--parts 3: the graph has 2 vertices"} {
		c := Default()
		c.Parts = parts
		if _, err := c.PartCount(3, 2); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--parts %d: %v, want %q", parts, err, want)
		}
	}
}

// What went over fewer epochs before a run was made longer is said.
func TestLengthened(t *testing.T) {
	c := Default()
	c.Set(scheduleOption, "cosine")
	if why := c.Lengthened(); why != "" {
		t.Errorf("a run that nobody made longer: %q", why)
	}
	c.BegunEpochs = 3
	if why := c.Lengthened(); why != "--schedule cosine went over 3 epochs so far" {
		t.Errorf("a run with a schedule: %q", why)
	}
	if c.Set(scheduleOption, "constant"); c.Lengthened() != "" {
		t.Error("a constant rate goes over no epochs")
	}
}

// Parts of a file go with isolated parts, whose partitioner nobody named.
func TestIsolatedPartsOfAFile(t *testing.T) {
	for args, want := range map[string]string{
		"--dataset x --plan f --isolated":                         "",
		"--dataset x --plan f --isolated --partitioner streaming": "--partitioner streaming with --plan",
	} {
		_, cfg, err := applied(t, strings.Fields(args)...)
		if err != nil {
			t.Fatal(err)
		}
		if err := cfg.Validate(); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
}
