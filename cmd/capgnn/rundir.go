package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/regular"
)

// runDir is a run folder (DESIGN.md 8). config.yaml is its mark: a folder that has one holds a run.
type runDir string

func (d runDir) config() string      { return filepath.Join(string(d), "config.yaml") }
func (d runDir) metrics() string     { return filepath.Join(string(d), "metrics.jsonl") }
func (d runDir) best() string        { return filepath.Join(string(d), "model.safetensors") }
func (d runDir) last() string        { return filepath.Join(string(d), "last.safetensors") }
func (d runDir) checkpoints() string { return filepath.Join(string(d), "checkpoint") }
func (d runDir) result() string      { return filepath.Join(string(d), "result.json") }
func (d runDir) report() string      { return filepath.Join(string(d), "report.html") }
func (d runDir) initial() string     { return filepath.Join(string(d), "init.safetensors") }
func (d runDir) scaling() string     { return filepath.Join(string(d), "standardize.npz") }
func (d runDir) plan() string        { return filepath.Join(string(d), "plan.bin") }
func (d runDir) lock() string        { return filepath.Join(string(d), "lock") }

// holdsRun reports whether the folder already holds a run.
func (d runDir) holdsRun() bool { return term.Exists(d.config()) }

// makeRunDir makes the folder of a new run where none was named: ./runs/DATASET-MODEL-TIME with a number behind it until the
// name is new.
func makeRunDir(dataset, model string, now time.Time) (runDir, error) {
	base := filepath.Join("runs", fmt.Sprintf("%s-%s-%s", fileName(dataset), model, now.Format("20060102-150405")))
	if err := os.MkdirAll("runs", 0o755); err != nil {
		return "", term.Usagef("make run folder: %w: choose a place with --run-dir", err)
	}
	for k, name := 2, base; ; k, name = k+1, fmt.Sprintf("%s-%d", base, k) {
		err := os.Mkdir(name, 0o755)
		switch {
		case err == nil:
			return runDir(name), nil
		case !errors.Is(err, fs.ErrExist):
			return "", term.Usagef("make run folder: %w: choose a place with --run-dir", err)
		}
	}
}

// fileName turns a data set's name, which a file may have chosen, into a harmless part of a file name.
func fileName(name string) string {
	safe := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-', r == '.':
			return r
		}
		return '_'
	}, name)
	return strings.TrimLeft(safe[:min(len(safe), 80)], ".")
}

// free refuses a folder that already holds a run.
func (d runDir) free() error {
	if d.holdsRun() {
		return term.Usagef("--run-dir %s already holds a run: continue it with --resume %s or choose another folder", d, d)
	}
	return nil
}

// writeResult writes result.json, the mark of a finished run.
func (d runDir) writeResult(r *runResult) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("format result: %w", err)
	}
	return term.WriteFile(d.result(), append(data, '\n'))
}

// maxResultBytes bounds result.json, which has 2 KiB and about 100 bytes for each device.
const maxResultBytes = 1 << 20

// readResult returns the result of a finished run, nil if the run is not finished.
func (d runDir) readResult() (*runResult, error) {
	f, err := regular.Open(d.result())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, term.Usagef("read result: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxResultBytes+1))
	switch {
	case err != nil:
		return nil, term.Usagef("read result: %w", err)
	case len(data) > maxResultBytes:
		return nil, term.Usagef("read result %s: larger than %d bytes: not a result", d.result(), maxResultBytes)
	}
	r := new(runResult)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, term.Usagef("read result %s: %w: remove it to train the last epochs again", d.result(), err)
	}
	return r, nil
}
