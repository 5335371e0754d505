package experiments

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/diskcache"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/hostmem"
	"capgnn/internal/atomicfile"
	"capgnn/internal/bench"
)

// Environment says where the results of a folder come from: every invocation that wrote into it, equal ones once.
type Environment struct {
	Runs []EnvironmentRun `json:"runs"`
}

// EnvironmentRun is one invocation.
type EnvironmentRun struct {
	Command  []string       `json:"command"`
	Program  term.BuildInfo `json:"program"`
	CPU      string         `json:"cpu"`
	Cores    int            `json:"cores"`        // that the program may use
	Memory   int64          `json:"memory_bytes"` // of the machine, 0 = unknown
	GPUs     []string       `json:"gpus"`
	Driver   string         `json:"driver"` // of the GPUs, "" = none
	Kernel   string         `json:"kernel"`
	Devices  string         `json:"devices"`  // of --devices, "" = those of the experiment
	Datasets []string       `json:"datasets"` // of --datasets
	Seeds    []uint64       `json:"seeds"`
	Epochs   int            `json:"epochs"` // of --epochs, 0 = those of the experiment
	Quick    bool           `json:"quick"`
}

// writeEnvironment adds this invocation to environment.json.
func (b *Bench) writeEnvironment() error {
	path := filepath.Join(b.opt.Out, "environment.json")
	var e Environment
	if err := diskcache.ReadJSON(path, &e); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return term.Usagef("%s: %w: move it away", path, err)
	}
	run := EnvironmentRun{
		Command: append([]string{"capgnn"}, os.Args[1:]...), Program: term.ReadBuildInfo(), CPU: processor(), Cores: devices.Cores(), GPUs: []string{}, Kernel: firstLine("/proc/sys/kernel/osrelease"),
		Driver: driverVersion(), Devices: b.opt.Devices, Datasets: b.opt.Datasets, Seeds: b.opt.Seeds, Epochs: b.opt.Epochs, Quick: b.opt.Quick,
	}
	if _, total, err := hostmem.Free(); err == nil {
		run.Memory = int64(total)
	}
	run.GPUs = append(run.GPUs, graphicsCards()...)
	b.about = run.facts()
	text, err := json.Marshal(run)
	if err != nil {
		return err
	}
	for _, r := range e.Runs {
		if known, err := json.Marshal(r); err == nil && string(known) == string(text) {
			return nil
		}
	}
	e.Runs = append(e.Runs, run)
	return atomicfile.Write(path, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return enc.Encode(e)
	})
}

// facts are what a page says of the invocation: the command and the machine.
func (r *EnvironmentRun) facts() []bench.Fact {
	words := make([]string, len(r.Command))
	for i, w := range r.Command {
		words[i] = runfolder.ShellWord(w)
	}
	out := []bench.Fact{{Name: "command", Text: strings.Join(words, " ")}, {Name: "program", Text: r.Program.String()},
		{Name: "processor", Text: fmt.Sprintf("%s, %s used", r.CPU, term.Counted(r.Cores, "core"))}}
	if r.Memory > 0 {
		out = append(out, bench.Fact{Name: "memory", Text: term.Size(r.Memory)})
	}
	for _, g := range r.GPUs {
		out = append(out, bench.Fact{Name: "GPU", Text: g + ", driver " + r.Driver})
	}
	if r.Kernel != "" {
		out = append(out, bench.Fact{Name: "system", Text: runtime.GOOS + " " + r.Kernel})
	}
	return out
}

// noteLoad says if this machine does other work: times that are measured meanwhile say little. Other systems tell no load.
func (b *Bench) noteLoad() {
	text, _, _ := strings.Cut(firstLine("/proc/loadavg"), " ")
	if load, err := strconv.ParseFloat(text, 64); err == nil && load > float64(devices.Cores())/2 {
		b.k.Note("note: the machine is busy (a load of %s on %d cores): times measured now say little, ratios of programs that take turns somewhat more; what is simulated or counted does not change", text, devices.Cores())
	}
}

// processor returns the name of the CPU, as far as the system tells it.
func processor() string {
	data, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return runtime.GOARCH
	}
	for line := range strings.Lines(string(data)) {
		if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return runtime.GOARCH
}

// graphicsCards returns the models of the NVIDIA GPUs that the kernel's driver knows.
func graphicsCards() []string {
	files, err := filepath.Glob("/proc/driver/nvidia/gpus/*/information")
	if err != nil {
		return nil
	}
	var out []string
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			if key, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(key) == "Model" {
				out = append(out, strings.TrimSpace(value))
			}
		}
	}
	return out
}

// driverVersion returns the version of the NVIDIA driver, "" without one.
func driverVersion() string { return firstLine("/sys/module/nvidia/version") }

func firstLine(path string) string {
	data, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(data), "\n")
	return line
}
