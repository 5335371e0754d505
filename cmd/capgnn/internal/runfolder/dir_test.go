package runfolder

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/internal/runfile"
	"capgnn/pipeline"
)

func TestMakeRunDir(t *testing.T) {
	t.Chdir(t.TempDir())
	now := time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	var got []string
	for range 3 {
		d, err := Make("cora", "gcn", now)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(d))
	}
	want := []string{"runs/cora-gcn-20260102-150405", "runs/cora-gcn-20260102-150405-2", "runs/cora-gcn-20260102-150405-3"}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A new run takes no folder with somebody's files, but one in which a run was killed before it held one, and any if it is told so.
func TestFree(t *testing.T) {
	const held = `{"pid":7,"host":"a"}`
	for _, tc := range []struct {
		files map[string]string
		says  string // "": the folder is free
		also  bool   // with overwrite
	}{
		{nil, "", false},
		{map[string]string{"notes.txt": "mine"}, "holds notes.txt and no run", false},
		{map[string]string{"names.json": "mine"}, "holds names.json", false},
		{map[string]string{"lock": "mine"}, "holds lock", false},
		{map[string]string{"lock": ""}, "", false},
		{map[string]string{"lock": held, "names.json": "{}", "plan.bin": "", "config.yaml.tmp-0123abcd-7": "", "split.npz": ""}, "", false},
		{map[string]string{"lock": held, "model.safetensors": "mine"}, "holds model.safetensors", false},
		{map[string]string{"config.yaml": "", "notes.txt": "mine"}, "already holds a run", true},
	} {
		d := Dir(t.TempDir())
		for name, text := range tc.files {
			if err := os.WriteFile(filepath.Join(string(d), name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Free(false); (err == nil) != (tc.says == "") || err != nil && (!strings.Contains(err.Error(), tc.says) || term.ExitCode(err) != term.ExitUsage) {
			t.Errorf("%v: %v, want %q", tc.files, err, tc.says)
		}
		if err := d.Free(true); (err != nil) != tc.also {
			t.Errorf("%v: with overwrite %v", tc.files, err)
		}
	}
	for name, says := range map[string]string{"result.json/": "result.json is a folder, where a run writes a file", "checkpoint": "checkpoint is a file, where a run makes a folder"} {
		d := Dir(t.TempDir())
		path := filepath.Join(string(d), name)
		if strings.HasSuffix(name, "/") {
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
		} else if err := os.WriteFile(path, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := d.Free(true); err == nil || !strings.Contains(err.Error(), says) || term.ExitCode(err) != term.ExitUsage {
			t.Errorf("%s: with overwrite %v", name, err)
		}
	}
}

// The folder of a run's checkpoints is no place for another run, whatever it is called.
func TestFreeOfCheckpoints(t *testing.T) {
	run := Dir(t.TempDir())
	link := Dir(filepath.Join(t.TempDir(), "link"))
	if err := errors.Join(os.Mkdir(run.Checkpoints(), 0o755), os.Symlink(run.Checkpoints(), string(link))); err != nil {
		t.Fatal(err)
	}
	for _, d := range []Dir{Dir(run.Checkpoints()), Dir(run.Checkpoints() + "/"), link} {
		if err := d.Free(true); err != nil {
			t.Errorf("%s beside no run: %v", d, err)
		}
	}
	if err := os.WriteFile(run.Config(), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, d := range []Dir{Dir(run.Checkpoints()), Dir(run.Checkpoints() + "/"), link} {
		if err := d.Free(true); err == nil || !strings.Contains(err.Error(), "is for checkpoints of the run in ") || term.ExitCode(err) != term.ExitUsage {
			t.Errorf("%s: %v", d, err)
		}
	}
	if err := Dir(filepath.Join(string(run), "other")).Free(false); err != nil {
		t.Error(err)
	}
}

func TestWriteFileLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	for _, text := range []string{"one", "two"} {
		if err := term.WriteFile(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != text {
			t.Errorf("got %q, %v, want %q", got, err, text)
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("%d files, want 1", len(entries))
	}
}

// resultKeys are the keys that other programs read.
var resultKeys = []string{"dataset", "model", "devices", "simulated", "parts", "epochs", "seed", "final_loss", "train", "val", "test",
	"test_last", "best_epoch", "metric", "epoch_s", "time_s", "bytes", "halo_rows", "halo_pairs", "peak_bytes", "weights_sha256", "run_dir", "build", "order", "storage", "cache", "staleness", "class_names"}

func TestResultKeys(t *testing.T) {
	specs := []devices.Spec{{Label: "0", Threads: 1, Slow: 1}}
	cfg := Default()
	r := NewResult(&cfg, "cora", specs, 1, "runs/x", &pipeline.Result{BestEpoch: -1, PeakDevice: []gpu.Bytes{1}})
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var top map[string]any
	if err := json.Unmarshal(data, &top); err != nil {
		t.Fatal(err)
	}
	keysOf := func(m map[string]any) []string {
		var keys []string
		for k := range m {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		return keys
	}
	want := slices.Sorted(slices.Values(resultKeys))
	if got := keysOf(top); !slices.Equal(got, want) {
		t.Errorf("keys %v, want %v", got, want)
	}
	for key, want := range map[string][]string{
		"epoch_s": {"mean", "median", "min"}, "bytes": {"d2h", "h2d", "host", "peer", "refresh"}, "peak_bytes": {"devices", "host"},
		"time_s": {"aggregation", "check_cache", "communication_transfer", "communication_wait", "cpu", "eval", "mm", "order", "other", "pick_cache", "reduce", "start"},
		"cache":  {"capacity", "coverage", "global_hits", "local_hits", "lookups", "misses", "policy"}, "staleness": {"bound", "forecast", "max_seen", "mean_seen", "period"},
	} {
		if got := keysOf(top[key].(map[string]any)); !slices.Equal(got, want) {
			t.Errorf("%s: keys %v, want %v", key, got, want)
		}
	}
	for _, key := range []string{"final_loss", "train", "val", "test", "test_last", "best_epoch"} {
		if top[key] != nil {
			t.Errorf("%s is %v without an epoch, want null", key, top[key])
		}
	}
}

func TestResultReadsBack(t *testing.T) {
	x, epoch := 0.25, 3
	want := &Result{Result: runfile.Result{Dataset: "d", Model: "gin", Devices: []string{"cpu:0,threads=1"}, Parts: 2, Epochs: 4, Seed: 9, FinalLoss: 1.5,
		Train: &x, BestEpoch: &epoch, Metric: "accuracy", EpochS: EpochSecondsOf([]time.Duration{time.Second, 3 * time.Second}),
		PeakBytes: runfile.PeakBytes{Host: 1, Devices: []int64{2, 3}}, SHA256: "ab", RunDir: "r"}}
	d := Dir(t.TempDir())
	if got, err := d.ReadResult(); got != nil || err != nil {
		t.Fatalf("without a result: %v, %v, want nothing", got, err)
	}
	if err := d.WriteResult(want); err != nil {
		t.Fatal(err)
	}
	got, err := d.ReadResult()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if err := term.WriteFile(d.result(), []byte(`{"dataset":`)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.ReadResult(); term.ExitCode(err) != term.ExitUsage {
		t.Errorf("half a result: error %v, want a usage error", err)
	}
}

func TestEpochSeconds(t *testing.T) {
	s := EpochSecondsOf([]time.Duration{4 * time.Second, time.Second, 2 * time.Second, 9 * time.Second})
	if *s.Median != 3 || *s.Mean != 4 || *s.Min != 1 {
		t.Errorf("median %g, mean %g, min %g, want 3, 4, 1", *s.Median, *s.Mean, *s.Min)
	}
	if EpochSecondsOf(nil) != (runfile.EpochSeconds{}) {
		t.Error("no epochs give numbers")
	}
}

// docs/formats/run.md names every key of the files that other programs read.
func TestRunFolderIsDescribed(t *testing.T) {
	doc, err := os.ReadFile("../../../../docs/formats/run.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(doc), "## metrics.jsonl")
	metrics, result, ok := strings.Cut(text, "## result.json")
	if !ok {
		t.Fatal("docs/formats/run.md has other headings")
	}
	for _, file := range []struct {
		section string
		of      reflect.Type
	}{{metrics, reflect.TypeFor[runfile.Epoch]()}, {result, reflect.TypeFor[runfile.Result]()}} {
		for _, key := range jsonKeys(file.of) {
			if !strings.Contains(file.section, "`"+key+"`") {
				t.Errorf("docs/formats/run.md does not describe %s of %s", key, file.of)
			}
		}
	}
}

// jsonKeys returns the keys of a struct in JSON, with those of embedded structs.
func jsonKeys(of reflect.Type) []string {
	if of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	var keys []string
	for i := range of.NumField() {
		f := of.Field(i)
		if f.Anonymous {
			keys = append(keys, jsonKeys(f.Type)...)
			continue
		}
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			keys = append(keys, name)
		}
	}
	return keys
}

// Whoever may not write to a folder is told what to do.
func TestUnlocked(t *testing.T) {
	denied := &os.PathError{Op: "open", Path: "run/lock", Err: syscall.EACCES}
	for flag, want := range map[string]string{"--resume": "or resume a copy of the folder", "--run-dir": "or choose another folder"} {
		for _, err := range []error{denied, &os.PathError{Op: "open", Path: "run/lock", Err: syscall.EROFS}} {
			if got := Unlocked(flag, "run", err); term.ExitCode(got) != term.ExitUsage || !strings.HasSuffix(got.Error(), "make it writable, "+want) {
				t.Errorf("%s: got %v", flag, got)
			}
		}
		if got := Unlocked(flag, "run", syscall.ENOSPC); strings.Contains(got.Error(), "writable") {
			t.Errorf("a full disk: got %v", got)
		}
	}
}
