package runfolder

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
)

// Class weights read as they are said, a file as what it says; what no class can weigh is refused with its line.
func TestClassWeights(t *testing.T) {
	dir := t.TempDir()
	file := func(content string) string {
		path := filepath.Join(dir, "weights.txt")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct{ text, file, is string }{
		{"balanced", "", "balanced"}, {"1, 2.5,0", "", "1, 2.5,0"}, {"", "1\n2.5\n\n0 # nothing\n", "1,2.5,0"}, {"", "2 0.5\r\n0\t1e-3\r\n1,2\r\n", "0.001,2,0.5"}, {"", "7", "7"},
	} {
		if c.file != "" {
			c.text = file(c.file)
		}
		cfg := Default()
		cfg.Dataset = "x"
		cfg.Set(classWeights, c.text)
		if err := cfg.MakeAbsolute(nil); err != nil || cfg.Validate() != nil || cfg.ClassWeights.String() != c.is {
			t.Errorf("%q: %v, %v, %q", c.file, err, cfg.Validate(), cfg.ClassWeights)
		}
	}
	for content, says := range map[string]string{
		"1\n-2\n": "line 2: weight -2 is not", "1\nNaN\n": "line 2: weight NaN is not", "1\ninf\n": "line 2: weight inf is not", "0 1\n2 1\n": "class 1 has no weight", "0 1\n0 2\n": "line 2: class 0 is said twice",
		"1\n2 3\n": "line 2: has 2 fields", "1 2 3\n": "line 1: has 3 fields", "a 1\n": "line 1: \"a\" is not the number of a class", "-1 1\n": "is not the number of a class", "# none\n": "it has no weight",
		"x\n": "line 1: weight x is not", "1\n1e39\n": "class 1: weight 1e+39 is neither", strings.Repeat("1\n", 1025): "1025 weights: at most 1024", strings.Repeat("1\n", 1<<20): "larger than 1048576 bytes",
	} {
		cfg := Default()
		cfg.Set(classWeights, file(content))
		if err := cfg.MakeAbsolute(nil); err == nil || !strings.Contains(err.Error(), says) || term.ExitCode(err) != term.ExitUsage || !strings.Contains(err.Error(), "--class-weights") {
			t.Errorf("%.20q: %v, want %s", content, err, says)
		}
	}
	for text, says := range map[string]string{"balance": "is neither balanced", "-1,2": "class 0: weight -1", "1,x": "is neither balanced", "1,nan": "class 1: weight NaN", "1e39": "class 0: weight 1e+39 is neither 0 nor in", "none/weights.txt": "no such file"} {
		cfg := Default()
		cfg.Dataset = "x"
		cfg.Set(classWeights, text)
		err := cfg.MakeAbsolute(nil)
		if err == nil {
			err = cfg.Validate()
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %s", text, err, says)
		}
	}
	cfg := Default()
	cfg.Dataset, cfg.LabelSmoothing, cfg.Parts = "x", 1, 0
	cfg.Set(classWeights, "balanced")
	cfg.Set(isolated, "chunks=4,phases=2")
	for _, says := range []string{"--label-smoothing 1 is not in [0, 1)", "--class-weights with --isolated=phases=2"} {
		if err := cfg.Validate(); err == nil || !strings.Contains(fmt.Sprint(err), says) {
			t.Errorf("%v, want %s", err, says)
		}
	}
}
