package main

import (
	_ "embed"
	"slices"
	"strings"
)

// testCase is commands that run one after the other in one folder.
type testCase struct {
	name      string
	program   string   // capgnn or capgnn-noasm
	commands  []string // without the program's name;
	simulated bool     // times are of simulated devices and compared
}

// interrupted begins a command that gets an interrupt once it has trained an epoch.
const interrupted = "^C "

// single and alike are devices that need no measurement, unlike are simulated ones.
const (
	single = " --devices cpu:threads=1"
	alike  = " --devices cpu:threads=1,cpu:threads=1,cpu:threads=1"
	unlike = " --devices sim:rtx3090,sim:gtx1660ti"
	small  = " --quiet --json --run-dir run --order none --hidden 8 --seed 3 --eval-every 3"
	brief  = small + " --epochs 8"
)

// modes are ways of training that every model is compared in. Where old rows are not the mode itself, those of GAT are fresh.
var modes = []struct{ name, flags, old string }{
	{"one part", single, ""},
	{"three parts", alike, ""},
	{"stale", alike + " --staleness 4,pipeline=off", ""},
	{"pipeline", alike + " --staleness 4,pipeline=on", ""},
	{"small caches", alike + " --peer off --cache gpu=15%,cpu=25%", " --staleness 2"},
	{"int8", alike + " --halo-dtype int8", " --staleness 2"},
	{"bf16", alike + " --storage bf16 --halo-dtype bf16", " --staleness 2"},
	{"max-prune", unlike + " --prune max=0.1 --layers 2", ""},
}

// plainModes are those that call other kernels than the rest: without assembly, which changes kernels alone, no more are compared.
var plainModes = []string{"one part", "stale", "int8", "bf16"}

//go:embed cases.txt
var caseText string

// cases returns all: the modes of every model, some with the other program too; cases.txt; the help of every command.
func cases(commandNames []string) []testCase {
	var out []testCase
	for _, program := range []string{"capgnn", "capgnn-noasm"} {
		for _, model := range []string{"gcn", "sage", "gin", "gat"} {
			name := model + " "
			if program != "capgnn" {
				name = "noasm " + name
			}
			for _, m := range modes {
				if program != "capgnn" && !slices.Contains(plainModes, m.name) {
					continue
				}
				flags := m.flags
				if model != "gat" {
					flags += m.old
				}
				train := "train --dataset tiny --model " + model + brief + flags
				out = append(out, testCase{name + m.name, program, []string{train}, strings.Contains(flags, "sim:")})
			}
			if program != "capgnn" {
				continue
			}
			long := "train --dataset tiny --epochs 150 --model " + model + small + alike
			if model != "gat" {
				long += " --staleness 4"
			}
			out = append(out, testCase{name + "resume", program, []string{interrupted + long, "train --resume run --quiet --json"}, false})
		}
	}
	for line := range strings.Lines(caseText) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, text, named := strings.Cut(line, ": ")
		if !named || strings.Contains(name, "--") {
			name, text = line, line
		}
		text = strings.NewReplacer("$SINGLE", single, "$ALIKE", alike, "$UNLIKE", unlike, "$BRIEF", brief, "$SMALL", small).Replace(text)
		out = append(out, testCase{name, "capgnn", strings.Split(text, "; "), strings.Contains(text, "sim:")})
	}
	for _, c := range commandNames {
		out = append(out, testCase{"help " + c, "capgnn", []string{c + " --help"}, false})
	}
	return out
}

// leftOut names facts that time or the machine's load decides. Of simulated devices most times are compared.
var leftOut = []rule{
	{pattern: "*cpu_s"}, {pattern: "*time_s.cpu"}, {pattern: "*edges_per_s"},
	{pattern: "*epoch_s*", real: true},
	{pattern: "*reduce_s", real: true},
	{pattern: "*device_s.*", real: true},
	{pattern: "*part_s.*", real: true},
	{pattern: "*time_s.*", real: true},
	{pattern: "*check_cache"}, // on the host, whatever the devices
	{pattern: "*eval_s"},      // same
	{pattern: "*time_s.eval"}, // same
	{pattern: "*time_s.start"},
	{pattern: "* seconds"},
	{pattern: "*.seconds"},
	{pattern: "*slowest_part", real: true},
	{pattern: "*wait_s", real: true},
	{pattern: "*pairs.*.frames"},                                     // what keeps a connection alive is sent by time
	{pattern: "ranks sampled: *pairs.*.rows"},                        // rows are asked for ahead, as far as time allows
	{pattern: "*isolated.switch_s"}, {pattern: "*isolated.switch.s"}, // on the host, whatever the devices
	{pattern: "sampled simulated: *time_s.*"}, // same: sampling, staging and what waits for them
	// Memory that begins with what the process has.
	{pattern: "*host.bound"}, {pattern: "*host.uses.*.bound"},
	{pattern: "*process.bound"}, {pattern: "*process.uses.*.bound"},
	{pattern: "* peak_bytes.host"}, // resident memory of the process
	{pattern: "* peak_bytes"},      // same
	{pattern: "*/report.html"},     // axes reach as far as times do, check_cache too
	{pattern: "*.tfevents"},        // holds times
	{pattern: "*/checkpoint/*"},    // same; what comes of a resumed run is compared
}
