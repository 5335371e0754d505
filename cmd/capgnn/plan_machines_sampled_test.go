package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/internal/number"
)

// planSampledOver returns the plan of a small run on samples over machines.
func (s *sandbox) planSampledOver(more ...string) (p training.SampledMachinePlan) {
	s.T.Helper()
	if err := json.Unmarshal([]byte(s.must(append([]string{"plan", "--json", "--quiet"}, sampledArgs(more...)...)...)), &p); err != nil {
		s.T.Fatal(err)
	}
	return p
}

// What plan says that machines send each other in the first epoch is what ranks of a run send, to the byte; and what it says of rows by the run's own way to fetch is what these fetch.
func TestPlanSampledMachinesSend(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for k, sampling := range []string{"default", "distdgl", "rapidgnn", "hopgnn,merge=off"} {
		args := sampledArgs("--epochs", "1", "--eval-every", "0", "--model", []string{"gcn", "sage"}[k%2], "--sampling", sampling)
		counts := [][]int{{1, 1}, {2, 1}}[k%2]
		dir := fmt.Sprint("run", k)
		machines := fmt.Sprintf("%d,%d", counts[0], counts[1]) // the ranks of this test are on one, which the cut would see
		run := progtest.RankRun{Sandbox: s.Sandbox, Args: append(args, "--machines", machines, "--run-dir", dir, "--quiet"), Own: func(rank int) []string { return []string{"--devices", progtest.CPUs(counts[rank])} }}
		for rank, e := range run.Over(2) {
			if e.Code != 0 {
				t.Fatalf("%s: rank %d: exit code %d\n%s%s", sampling, rank, e.Code, e.Out, e.Err)
			}
		}
		text, err := os.ReadFile(s.path(dir + "/metrics.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		var line struct {
			Pairs []struct {
				From, To int
				Rows     int64
			}
			Rows struct{ Fetched, Prefilled int64 }
		}
		if err := json.Unmarshal(text, &line); err != nil {
			t.Fatal(err)
		}
		sum := counts[0] + counts[1]
		list := strings.TrimSuffix(strings.Repeat("sim:rtx3090,", sum), ",")
		p := s.planSampledOver(append(args, "--devices", list, "--machines", machines)[6:]...)
		two := &p.Counts[1]
		got := map[[2]int]int64{}
		for _, x := range two.First.Pairs {
			got[[2]int{x.From, x.To}] = int64(x.Bytes)
			if x.Bytes != x.Rows+x.Requests+x.Gradients {
				t.Errorf("%s: %+v does not add up", sampling, x)
			}
		}
		if len(line.Pairs) != 2 || len(got) != 2 {
			t.Fatalf("%s: pairs are %+v, in the plan %+v", sampling, line.Pairs, two.First.Pairs)
		}
		for _, x := range line.Pairs {
			if n := got[[2]int{x.From, x.To}]; n != x.Rows {
				t.Errorf("%s: from %d to %d go %d bytes, in the plan %d", sampling, x.From, x.To, x.Rows, n)
			}
		}
		if two.First.EpochS != nil || p.Best != 0 || two.Rows == nil || p.Counts[0].Rows != nil {
			t.Errorf("%s: without --machines net: %+v", sampling, p)
		}
		if sampling == "distdgl" { // three parts of two machines: not all rows cross
			if all := line.Rows.Fetched; two.Rows.Ways[0].Rows >= all || two.Rows.Ways[0].Rows == 0 {
				t.Errorf("%s: %d rows cross, %d are fetched", sampling, two.Rows.Ways[0].Rows, all)
			}
		} else if k == 0 && two.Rows.Places[1].Rows == 0 {
			t.Errorf("%s: no row crosses: %+v", sampling, two.Rows)
		}
	}
}

// plan says what one machine takes, two, and so on, and never advises more machines than are fastest.
func TestPlanSampledMachines(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for _, net := range []string{"1Mbit/s", "1000Gbit/s,0s"} {
		p := s.planSampledOver("--devices", "sim:rtx3090", "--machines", "1,1,1,net="+net, "--epochs", "4")
		if len(p.Counts) != 3 || p.Best < 1 || p.Steps != 11 {
			t.Fatalf("%s: %+v", net, p)
		}
		for _, c := range p.Counts {
			if *c.Later.EpochS < *p.Counts[p.Best-1].Later.EpochS || number.Ratio.Text(*c.Speedup) != number.Ratio.Text(*p.Counts[0].Later.EpochS / *c.Later.EpochS) {
				t.Errorf("%s: %d machines are advised: %+v", net, p.Best, p)
			}
		}
		if last := p.Counts[2]; len(last.First.Pairs) != 6 || last.First.Busiest < last.Later.Busiest {
			t.Errorf("%s: %+v", net, last)
		}
		if net == "1Mbit/s" && p.Best != 1 {
			t.Errorf("machines are advised over a line of %s: %+v", net, p)
		}
	}
	for _, net := range []string{",net=1Mbit/s", ""} {
		text := s.must(append([]string{"plan", "--quiet"}, sampledArgs("--devices", "sim:rtx3090", "--machines", "1,1"+net)...)...)
		if says := map[string]string{"": "see if they pay\n", ",net=1Mbit/s": "stay on one\n"}[net]; !strings.HasSuffix(text, says) || !strings.Contains(text, "0 to 1, the first epoch") {
			t.Errorf("the answer:\n%s", text)
		}
		for line := range strings.SplitSeq(text, "\n") {
			if len([]rune(strings.TrimRight(line, " "))) > 80 {
				t.Errorf("a line of %d characters: %s", len([]rune(line)), line)
			}
		}
	}
}
