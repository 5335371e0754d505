package runfolder

import (
	"fmt"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// TestLevelsAreSettings reads every level from a file: its options have its values, but for those that the file says on their own, and what
// is written is read again to the same.
func TestLevelsAreSettings(t *testing.T) {
	for _, l := range levels {
		for _, over := range []setting{{}, {haloDtype, "bf16"}, {staleness, "9"}} {
			text := "comm: " + l.name + "\n"
			if over.name != "" {
				text += over.name + ": \"" + over.value + "\"\n"
			}
			cfg := Default()
			cfg.Set("halo-dtype", "bf16") // of a file before it
			if err := ParseConfig([]byte(text), &cfg); err != nil {
				t.Fatal(err)
			}
			for _, s := range l.settings {
				want := s.value
				if s.name == over.name {
					want = over.value
				}
				if got := fmt.Sprint(cfg.valueOf(s.name)); got != want {
					t.Errorf("%q: %s is %v, want %s", text, s.name, got, want)
				}
			}
			written, err := FormatConfig(&cfg)
			if err != nil {
				t.Fatal(err)
			}
			again := Default()
			if err := ParseConfig(written, &again); err != nil {
				t.Fatal(err)
			}
			if got, want := again.DescribeLevel(), cfg.DescribeLevel(); got != want {
				t.Errorf("%q: read again %q, was %q", text, got, want)
			}
		}
	}
}

// TestLevelDescribed: the default says nothing; a level says its flags, and those that are others.
func TestLevelDescribed(t *testing.T) {
	cfg := Default()
	if got := cfg.DescribeLevel(); got != "" {
		t.Errorf("the default is described as %q", got)
	}
	if err := ParseConfig([]byte("comm: encoded\nstaleness: 2\n"), &cfg); err != nil {
		t.Fatal(err)
	}
	if got, want := cfg.DescribeLevel(), "encoded = --halo-dtype int8 --staleness 0; here --staleness 2"; got != want {
		t.Errorf("described as %q, want %q", got, want)
	}
}

// TestStaleLevelSmooths: rows that are refreshed more often than the level says are smoothed where they are used an epoch late, unless the user says otherwise.
func TestStaleLevelSmooths(t *testing.T) {
	for text, want := range map[string]float64{
		"comm: stale":                                  0,
		"comm: stale\nstaleness: 4":                    0.5,
		"staleness: 7\ncomm: lean":                     0.5,
		"comm: stale\nstaleness: 8":                    0,
		"comm: stale\nstaleness: 16":                   0,
		"comm: stale\nstaleness: 4\nsmoothing: 0":      0,
		"comm: stale\nstaleness: 4\nsmoothing: 0.25":   0.25,
		"comm: stale\nstaleness: 4\npipeline: \"off\"": 0,
		"comm: encoded\nstaleness: 4":                  0,
		"staleness: 4":                                 0,
	} {
		cfg := Default()
		if err := ParseConfig([]byte("dataset: x\n"+text), &cfg); err != nil {
			t.Fatal(err)
		}
		if err := cfg.Validate(); err != nil || cfg.Smoothing != want {
			t.Errorf("%q: smoothing %g, want %g; %v", text, cfg.Smoothing, want, err)
		}
	}
}

// TestFlagsBesideLevelOfFile: what follows the level of a file goes on to follow it as flags change; what the file says on its own stays.
func TestFlagsBesideLevelOfFile(t *testing.T) {
	for _, c := range []struct {
		file, flags string
		want        string // --halo-dtype, --staleness, --smoothing, --halo-backward and --stale-layers
	}{
		{"comm: stale", "--staleness 4", "int8 4 0.5 always wide"},
		{"comm: stale\nsmoothing: 0.25", "--staleness 4", "int8 4 0.25 always wide"},
		{"comm: stale\nstaleness: 4", "--staleness 16", "int8 16 0 always wide"},
		{"comm: lean", "--comm encoded", "int8 0 0 always auto"},
		{"comm: lean\nstaleness: 4", "--comm exact", "fp32 0 0 always auto"},
		{"comm: lean", "--comm exact --staleness 2", "fp32 2 0 always auto"},
		{"staleness: 4\nsmoothing: 0.5", "--seed 3", "fp32 4 0.5 always auto"},
		{"staleness: 4", "--comm stale", "int8 8 0 always wide"},
		{"comm: lean\nstale-layers: 1", "--comm stale", "int8 8 0 always wide"},
		{"comm: stale", "--stale-layers auto", "int8 8 0 always auto"},
		{"comm: exact\nhalo-dtype: bf16", "--comm lean --halo-backward always", "int8 8 0 always wide"},
	} {
		cfg := Default()
		if err := ParseConfig([]byte("dataset: x\n"+c.file), &cfg); err != nil {
			t.Fatal(err)
		}
		app := &cli.App{Flags: Flags(), Action: func(ctx *cli.Context) error {
			_, err := ApplyFlags(ctx, &cfg)
			return err
		}}
		if err := app.Run(append([]string{"x"}, strings.Fields(c.flags)...)); err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(cfg.HaloType, " ", cfg.Staleness, " ", cfg.Smoothing, " ", cfg.HaloBackward, " ", cfg.StaleLayers); got != c.want {
			t.Errorf("%q with %s: %s, want %s", c.file, c.flags, got, c.want)
		}
		if err := cfg.Validate(); err != nil {
			t.Errorf("%q with %s: %v", c.file, c.flags, err)
		}
	}
}

// TestLevelRefused: names that are none, and levels of sampled training, whose rows are fetched in other ways.
func TestLevelRefused(t *testing.T) {
	for text, want := range map[string]string{
		"comm: encode":                              `--comm "encode" (did you mean encoded?) is not one of exact, encoded, stale, lean`,
		"comm: encoded\nbatch-size: 64":             "drop --comm encoded: for full-batch training only, not with --batch-size 64",
		"comm: encoded\nhalo-dtype: float8":         "--halo-dtype",
		"comm: stale\nbatch-size: 64":               "drop --comm stale: for full-batch training only, not with --batch-size 64",
		"comm: stale\nbatch-size: 64\nstaleness: 4": "drop --comm stale --staleness 4: for full-batch training only, not with --batch-size 64",
		"comm: lean\nbatch-size: 64":                "drop --comm lean: for full-batch training only, not with --batch-size 64",
		"comm: stale\ncache: none":                  "--comm stale: --cache none has no rows that stay in their slots: give one of the policies jaca, ",
		"comm: stale\ncache: nonesuch":              "--cache",
		"comm: lean\nstaleness: 0":                  "--comm lean --staleness 0: all rows are fresh: give --comm encoded",
		"comm: stale\nstaleness: 17":                "--staleness",
		"comm: lean\nstaleness: auto":               "--comm lean with --staleness auto, which has no exact epochs: drop one of them",
		"comm: auto\nhalo-backward: warmup":         "--halo-backward warmup with --comm auto, which has no exact epochs: drop one of them",
		"comm: auto\nexact-epochs: 3":               "--exact-epochs 3 with --comm auto, which has no exact epochs: drop one of them",
		"comm: auto\npipeline: \"off\"":             "--comm auto needs the pipeline: drop --pipeline off",
		"comm: auto\ncache-bypass: 0.5":             "--cache-bypass 0.5 with --comm auto, which sets periods itself: drop one of them",
	} {
		cfg := Default()
		if err := ParseConfig([]byte("dataset: x\n"+text), &cfg); err != nil {
			t.Fatal(err)
		}
		if err := cfg.Validate(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v, want a line with %q", text, err, want)
		}
	}
}

// TestLevelChangesNoIdentity: a run is what its settings are, whatever they are called, so that runs from before --comm are resumed.
func TestLevelChangesNoIdentity(t *testing.T) {
	cfg := Default()
	cfg.Comm = "encoded"
	for _, o := range Options {
		if _, decides := o.Identity(&cfg); o.Name == comm && decides {
			t.Error("the name of a level decides what a run is")
		}
	}
}

// The settings that tell one default run from another. Those of older programs did not know --comm, --smoothing and --halo-backward, so these are left out: else no run
// of before could be resumed, and no plan found.
func TestIdentityOfOlderRuns(t *testing.T) {
	const known = "dataset dataset-path edges standardize features split self-loops model layers hidden heads dropout init epochs lr optimizer weight-decay " +
		"amsgrad seed eval-every patience devices parts partitioner objective balance balance-by cost no-move max-prune prune prune-score rescale alpha plan " +
		"profile order storage tf32 cache gpu-cache cpu-cache reserve-gpu reserve-cpu cache-topk cache-bypass staleness exact-epochs pipeline peer halo-dtype " +
		"cache-slots cache-links plan-key targets checkpoint-every no-precompute no-transform-first no-sparse no-needed-rows no-fold-scale no-fuse no-reuse data-sha256"
	cfg := Default()
	var names []string
	for _, o := range Options {
		if _, decides := o.Identity(&cfg); decides {
			names = append(names, o.Name)
		}
	}
	if got := strings.Join(names, " "); got != known {
		t.Errorf("got %s, want %s", got, known)
	}
	if got := len(KeyOf(&cfg, CacheOptions)); got != 13 {
		t.Errorf("the key of a plan has %d settings of caches, want 13", got)
	}
	cfg.Smoothing, cfg.HaloBackward = 0.5, HaloBackwardWarmup
	if got := len(KeyOf(&cfg, CacheOptions)); got != 15 {
		t.Errorf("smoothed: the key of a plan has %d settings of caches, want 15", got)
	}
}

// TestForgetAtLevel: a level changes what a config file recorded of caches.
func TestForgetAtLevel(t *testing.T) {
	cfg := Default()
	cfg.PlanKey = "key"
	cfg.Set("cache-slots", "0,0,0,0,7")
	Forget(&cfg, []string{comm})
	if cfg.PlanKey != "" || cfg.CacheSlots.String() != "" {
		t.Errorf("kept: plan key %q, slots %q", cfg.PlanKey, cfg.CacheSlots)
	}
}
