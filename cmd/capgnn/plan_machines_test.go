package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/profiler"
)

// planOver returns the plan of a small run over machines.
func (s *sandbox) planOver(more ...string) (m training.MachinePlan) {
	s.T.Helper()
	if err := json.Unmarshal([]byte(s.must(append([]string{"plan", "--json", "--quiet"}, small(more...)...)...)), &m); err != nil {
		s.T.Fatal(err)
	}
	return m
}

// plan says what one machine takes, two, and so on, and never advises a number of machines that is slower than another.
func TestPlanMachines(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for _, net := range []string{"1Mbit/s", "1Gbit/s", "10Gbit/s,0s", "1000Gbit/s,0s"} {
		for _, more := range [][]string{{}, {"--model", "sage", "--halo-dtype", "int8"}, {"--isolated"}} {
			m := s.planOver(append(more, "--devices", "sim:rtx3090,sim:rtx3090", "--machines", "2,2,net="+net)...)
			if len(m.Counts) != 2 || m.Best < 1 || m.Best > 2 || m.Counts[0].Pairs != nil || len(m.Counts[1].Pairs) != 2 || len(m.Counts[1].Devices) != 4 {
				t.Fatalf("%s %v: %+v", net, more, m)
			}
			least := m.Counts[m.Best-1].EpochS
			if m.Encoded {
				least = *m.Counts[m.Best-1].EncodedS
			}
			for _, c := range m.Counts {
				if c.EpochS < least || c.EncodedS != nil && *c.EncodedS < least {
					t.Errorf("%s %v: %d machines are advised, %d are faster: %+v", net, more, m.Best, c.Machines, m)
				}
			}
			if net == "1Mbit/s" && m.Best != 1 {
				t.Errorf("%v: two machines are advised over a line of %s: %+v", more, net, m)
			}
			if bytes := m.Counts[1].Pairs[0].Bytes; bytes <= 0 || m.Counts[1].Busiest < bytes {
				t.Errorf("%s %v: %+v", net, more, m.Counts[1])
			}
		}
	}
	two, four := s.planOver("--devices", "sim:rtx3090,sim:a40", "--machines", "2,2,net=1Gbit/s"), s.planOver("--devices", "sim:rtx3090,sim:a40,sim:rtx3090,sim:a40", "--machines", "2,net=1Gbit/s")
	for k := range two.Counts {
		if a, b := two.Counts[k], four.Counts[k]; a.EpochS != b.EpochS || a.Busiest != b.Busiest {
			t.Errorf("machines of equal devices: %+v, said one by one: %+v", a, b)
		}
	}
	text := s.must(append([]string{"plan", "--quiet"}, small("--devices", "sim:rtx3090,sim:rtx3090", "--machines", "2,2,net=1Mbit/s")...)...)
	if !strings.Contains(text, "x of one; stay on one\n") || !strings.Contains(text, "  0 to 1  ") {
		t.Errorf("the answer:\n%s", text)
	}
	for line := range strings.SplitSeq(text, "\n") {
		if len([]rune(line)) > 80 {
			t.Errorf("a line of %d characters: %s", len([]rune(line)), line)
		}
	}
}

// Every number of machines is compared with one machine and rows as they are.
func TestMachineAdvice(t *testing.T) {
	t.Parallel()
	encoded := 2.0
	one, two := training.MachineCount{Machines: 1, Subset: training.Subset{EpochS: 8, Speedup: 1, Fits: true}}, training.MachineCount{Machines: 2, Subset: training.Subset{EpochS: 4, Speedup: 2, Fits: true}, EncodedS: &encoded}
	for want, p := range map[string]training.MachinePlan{
		"it fits none of them":                                 {},
		"2 machines: 2.00x of one; stay on one":                {Best: 1},
		"take 2 machines: 2.00x of one":                        {Best: 2},
		"take 2 machines with --halo-dtype int8: 4.00x of one": {Best: 2, Encoded: true},
	} {
		p.Counts = []training.MachineCount{one, two}
		if got := machineAdvice(&p); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// Without --machines net= plan takes machines as train and partition do: of all devices, not of every choice of them, and not of one part.
func TestPlanTakesMachines(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for _, tc := range []struct {
		args    string
		choices int
	}{
		{"--devices sim:rtx3090,sim:a40 --machines 1,1", 3},
		{"--devices sim:rtx3090,sim:rtx3090 --machines 2", 2},
		{"--devices sim:gtx1650 --machines 1", 1},
		{"--devices sim:rtx3090,sim:a40 --parts 4 --machines 2,2", 3},
	} {
		var m training.MemoryPlan
		args := small(strings.Fields(tc.args)...)
		if err := json.Unmarshal([]byte(s.must(append([]string{"plan", "--json", "--quiet"}, args...)...)), &m); err != nil || len(m.Subsets) != tc.choices {
			t.Errorf("%s: %v, %+v, want %d choices", tc.args, err, m.Subsets, tc.choices)
		}
		s.must(append([]string{"train", "--quiet"}, args...)...)
	}
	for args, says := range map[string]string{
		"--devices sim:gtx1650 --machines 2":                                        "--machines 2: 1 part cannot be divided: give more --devices or --parts",
		"--devices sim:gtx1650 --machines 1,1":                                      "--machines 1,1: 1 part cannot be divided",
		"--devices sim:a40,sim:a40,sim:a40 --machines 2 --batch-size 8":             "--machines 2: 3 parts cannot be divided equally",
		"--devices sim:a40,sim:a40,sim:a40 --machines 4,net=1Gbit/s":                "--machines 4: 3 parts cannot be divided equally",
		"--devices sim:a40,sim:a40 --machines net=10Gbit/s":                         "--machines net=10Gbit/s: say how many machines there are",
		"--devices sim:a40,sim:a40 --machines net=10Gbit/s --batch-size 8":          "--machines net=10Gbit/s: say how many machines there are",
		"--devices sim:a40,sim:a40 --machines net=10Gbit/s --isolated --model sage": "--machines net=10Gbit/s: say how many machines there are",
	} {
		for _, command := range []string{"plan", "train"} {
			s.fails(term.ExitUsage, []string{says}, append([]string{command, "--quiet"}, small(strings.Fields(args)...)...)...)
		}
	}
}

// No number of machines promises more than the sum of what they do one by one without a word, with encoded rows neither.
func TestPlanMachinesDoubts(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	m := s.planOver("--devices", "sim:rtx3090,sim:gtx1650,sim:rtx3090", "--machines", "1,1,1,net=1000Gbit/s,0s")
	alone := s.planOver("--devices", "sim:gtx1650", "--machines", "1,1,net=1000Gbit/s,0s").Counts[0].EpochS
	for k, c := range m.Counts {
		want := []float64{1, 1 + m.Counts[0].EpochS/alone, 2 + m.Counts[0].EpochS/alone}[k]
		if math.Abs(c.Sum-want) > 1e-9 || m.Doubtful(k) {
			t.Errorf("%d machines do %g of one, %g by their sum, want %g", c.Machines, c.Speedup, c.Sum, want)
		}
	}
	one, half, third := 1.0, 0.5, 1.0/3
	for _, tc := range []struct {
		speedup           float64
		encoded, encoded1 *float64
		want              bool
	}{{1.9, nil, nil, false}, {2.1, nil, nil, true}, {1, &half, nil, false}, {1, &third, nil, true}, {1, &third, &one, true}, {1, &third, &half, false}} {
		var b strings.Builder
		m := &training.MachinePlan{Best: 2, Encoded: tc.encoded != nil, Counts: []training.MachineCount{
			{Machines: 1, Subset: training.Subset{EpochS: 1, Fits: true, Speedup: 1, Sum: 1}, EncodedS: tc.encoded1},
			{Machines: 2, Subset: training.Subset{EpochS: 1 / tc.speedup, Fits: true, Speedup: tc.speedup, Sum: 2}, EncodedS: tc.encoded}}}
		if err := printMachines(m, &term.Console{Out: &b}); err != nil {
			t.Fatal(err)
		}
		for _, says := range []string{"more than the sum\n", "\ndoubtful: more than their sum, 2.00: run `capgnn profile` on an idle machine\n"} {
			if strings.Contains(b.String(), says) != tc.want {
				t.Errorf("%+v: want %q %v in\n%s", tc, says, tc.want, b.String())
			}
		}
	}
}

// Machines of a plan that do not go together, and a run that fits none of them.
func TestPlanMachinesRefuses(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for _, tc := range []struct {
		args, says string
		code       int
	}{
		{"--machines net=1Gbit/s", "say how many machines there are, as in --machines 2", term.ExitUsage},
		{"--machines 2,3,net=1Gbit/s --devices sim:a40,sim:a40", "give those of all machines, 5, or those of each, 2", term.ExitUsage},
		{"--machines 3,1,net=1Gbit/s --devices sim:a40,sim:a40", "machines are not alike: give the devices of all", term.ExitUsage},
		{"--machines 2,net=1Gbit/s --devices sim:a40,sim:a40 --parts 4", "--parts 4: machines are planned with one part on each device", term.ExitUsage},
		{"--machines 2,net=fast --devices sim:a40,sim:a40", "is not a rate such as 10Gbit/s", term.ExitUsage},
		{"--machines 2,net=no.json --devices sim:a40,sim:a40", "no.json: no such file", term.ExitUsage},
		{"--machines 2 --devices sim:a40,sim:a40 --batch-size 8 --parts 4", "--parts 4: machines are planned with one part on each device", term.ExitUsage},
		{"--machines 2,3 --devices sim:a40,sim:a40 --batch-size 8", "give those of all machines, 5, or those of each, 2", term.ExitUsage},
		{"--machines 2,net=1Gbit/s --devices sim:a40,mem=4KiB --batch-size 8", "the run needs ", term.ExitDoesNotFit},
		{"--machines 2,net=1Gbit/s --devices sim:a40,mem=4KiB", "part 0 needs about", term.ExitDoesNotFit},
	} {
		stdout, stderr, code := s.run(append([]string{"plan", "--quiet"}, small(strings.Fields(tc.args)...)...)...)
		if code != tc.code || !strings.Contains(stderr, tc.says) {
			t.Errorf("%s: exit code %d, %s%s, want %d and %q", tc.args, code, stdout, stderr, tc.code, tc.says)
		}
	}
}

// profile --cluster measures what connects ranks, once for all, and plan takes it from the file.
func TestProfileCluster(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.must("launch", "-n", "2", "--", "profile", "--cluster", "--quick", "--devices", "cpu:threads=1", "--out", s.path("net.json"))
	p, err := profiler.Read(s.path("net.json"))
	if err != nil || len(p.Net) != 2 || len(p.Devices) != 1 {
		t.Fatalf("%+v, %v", p, err)
	}
	m := s.planOver("--devices", "sim:rtx3090", "--machines", "1,1,net="+s.path("net.json"))
	if len(m.Counts) != 2 || !strings.HasPrefix(m.Net, "0>1=") {
		t.Errorf("%+v", m)
	}
	if _, stderr, code := s.run(append([]string{"plan", "--quiet"}, small("--devices", "sim:rtx3090", "--machines", "1,1,1,net="+s.path("net.json"))...)...); code != term.ExitUsage || !strings.Contains(stderr, "it connects 2 machines, and there are 3") {
		t.Errorf("three machines by a net of two: exit code %d, %s", code, stderr)
	}
	if _, stderr, code := s.run("profile", "--cluster"); code != term.ExitUsage || !strings.Contains(stderr, "this process is alone") {
		t.Errorf("alone: exit code %d, %s", code, stderr)
	}
}
