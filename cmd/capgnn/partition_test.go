package main

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/graph"
	"capgnn/graph/synth"
	"capgnn/internal/long"
	"capgnn/rapa"
)

// partition runs `partition --json --quiet` and returns the last line of its output, read.
func (s *sandbox) partition(args ...string) *partitionReport {
	s.T.Helper()
	r := new(partitionReport)
	out := s.must(append([]string{"partition", "--json", "--quiet"}, args...)...)
	if err := json.Unmarshal([]byte(out), r); err != nil {
		s.T.Fatalf("%v in %q", err, out)
	}
	return r
}

// blocks writes a graph of n vertices in four communities, and returns it.
func (s *sandbox) blocks(name string, n int) *graph.CSR {
	s.T.Helper()
	g, class, err := synth.Blocks(n, 4, 16, 0.8, 1)
	if err != nil {
		s.T.Fatal(err)
	}
	y := make([]int64, n)
	for v := range y {
		y[v] = int64(class[v])
	}
	store{"indptr": {Data: g.Indptr}, "indices": {Data: g.Indices}, "x": {Shape: []int{n, 8}, Data: slices.Repeat([]float32{0.5}, 8*n)}, "y": {Data: y}}.write(s, name)
	return g
}

// What partition reports is what a walk over the graph counts; vertices alone are balanced unless something else is asked for.
func TestPartitionCounts(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	const n = 1000
	g := s.blocks("blocks.npz", n)
	for _, how := range long.Some(t, []string{"multilevel", "objective=volume", "streaming", "random", "by=vertices,edges", "balance=1.2"}, 2) {
		r := s.partition("--dataset", "blocks.npz", "--parts", "4", "--out", "p.plan", "--partitioner", how)
		plan, err := rapa.ReadPlan(s.path("p.plan"))
		if err != nil {
			t.Fatal(err)
		}
		cut, halo, edges := countParts(g, plan.Part, 4)
		total := int64(0)
		for i, p := range r.Parts {
			total += p.Inner
			if p.Halo != halo[i] || p.Edges != edges[i] || p.Lambda != nil || p.EpochS != nil {
				t.Errorf("%s: part %+v, want %d halo rows and %d edges and no device", how, p, halo[i], edges[i])
			}
		}
		if r.EdgeCut != cut || total != n || len(r.Parts) != 4 || r.Forecast != nil || r.Plan != "p.plan" || r.Seconds <= 0 || r.PeakBytes == 0 {
			t.Errorf("%s: cut %d of %d, %d vertices in %d parts, %+v", how, r.EdgeCut, cut, total, len(r.Parts), r)
		}
		bound := 1.03
		if how == "balance=1.2" {
			bound = 1.2
		}
		if r.Balance.Vertices > bound+4.0/n { // a bound is rounded up to a whole vertex
			t.Errorf("%s: balance %+v", how, r.Balance)
		}
	}
}

// A part that holds more edges than its share is noted: balancing by edges shares them out, but for those of a hub, which lie in one part.
func TestPartitionNotesEdges(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	var dense, star strings.Builder
	for v := range 400 { // every vertex below 100 has 20 neighbours there, the others one
		for i := range 20 {
			if v < 100 {
				fmt.Fprintln(&dense, v, (v+1+3*i)%100)
			}
		}
		fmt.Fprintln(&dense, v, (v+1)%400)
		fmt.Fprintln(&star, v+1, 0)
	}
	s.writeFiles(".", map[string]string{"dense.txt": dense.String(), "star.txt": star.String()})
	for _, tc := range []struct{ file, by, want string }{
		{"dense.txt", "vertices", "times its share of edges: `--partitioner by=vertices,edges` shares edges out, too"},
		{"dense.txt", "edges", ""},
		{"star.txt", "vertices,edges", "a part holds 4.00 times its share of edges: all edges into a vertex lie in its part, and one has 400 of 400"},
	} {
		_, stderr, code := s.run("partition", "--dataset", tc.file, "--parts", "4", "--partitioner", "by="+tc.by)
		if code != 0 || tc.want == "" && strings.Contains(stderr, "share of edges") || !strings.Contains(stderr, tc.want) {
			t.Errorf("%s by %s: exit code %d\n%s", tc.file, tc.by, code, stderr)
		}
	}
}

// countParts counts cut pairs, and halo vertices and in-edges of every part, the simple way.
func countParts(g *graph.CSR, part []int32, parts int) (cut int64, halo, edges []int64) {
	halo, edges = make([]int64, parts), make([]int64, parts)
	reads := map[[2]int32]bool{}
	pairs := map[[2]int32]bool{}
	for v := range g.Rows() {
		for _, u := range g.Row(v) {
			if int(u) == v {
				continue
			}
			edges[part[v]]++
			if part[u] != part[v] {
				reads[[2]int32{part[v], u}] = true
				pairs[[2]int32{min(u, int32(v)), max(u, int32(v))}] = true
			}
		}
	}
	for r := range reads {
		halo[r[0]]++
	}
	return int64(len(pairs)), halo, edges
}

// Parts for unequal devices: all are about equally long at work, and train takes the plan as it is.
func TestPartitionForDevices(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	devices := "sim:rtx3090,sim:gtx1660ti"
	r := s.partition("--dataset", "generated", "--devices", devices, "--out", "p.plan", "--plot", "pictures/p")
	if r.Forecast == nil || r.Forecast.Spread > 1.05 || r.Parts[0].Inner <= r.Parts[1].Inner || *r.Parts[0].PeakBytes == 0 || *r.Parts[0].Budget != 24<<30 {
		t.Errorf("%+v, forecast %+v", r.Parts, r.Forecast)
	}
	picture(t, s.path("pictures/p"))
	if by := s.partition("--dataset", "generated", "--devices", devices, "--partitioner", "by=vertices,memory"); by.Balance.Vertices > 1.031 {
		t.Errorf("balanced by vertices: %+v", by.Balance)
	}
	args := []string{"--dataset", "generated", "--epochs", "3", "--eval-every", "0", "--hidden", "16"}
	first := s.train(append(args, "--devices", devices, "--plan", "p.plan", "--run-dir", "a")...)
	again := s.train("--config", "a/config.yaml", "--run-dir", "b")
	if first.SHA256 != again.SHA256 || first.HaloRows != again.HaloRows || first.Devices[1] != "sim:gtx1660ti" {
		t.Errorf("again: %+v, first %+v", again, first)
	}
	// The same parts on real devices of the same number give the same bits: arithmetic is real.
	if real := s.train(append(args, "--devices", "cpu:threads=1,cpu:threads=1", "--plan", "p.plan")...); real.SHA256 != first.SHA256 {
		t.Errorf("weights %s on CPU devices, %s on simulated ones", real.SHA256, first.SHA256)
	}
	s.fails(term.ExitUsage, []string{"p.plan", "2 parts"}, append([]string{"train", "--quiet", "--plan", "p.plan"}, args...)...)
	newStore().write(s, "other.npz")
	s.fails(term.ExitUsage, []string{"p.plan", "another graph"}, "train", "--quiet", "--dataset", "other.npz", "--devices", devices, "--plan", "p.plan")
	s.fails(term.ExitUsage, []string{"junk"}, append([]string{"train", "--quiet", "--plan", "junk", "--devices", devices}, args...)...)
}

// picture checks that the picture can be read.
func picture(t *testing.T, base string) {
	t.Helper()
	raw, err := os.ReadFile(base + ".svg")
	if err != nil {
		t.Fatal(err)
	}
	for d := xml.NewDecoder(strings.NewReader(string(raw))); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%s.svg: %v", base, err)
		}
	}
}

// Pruning keeps to its bound, says what went, and trains; the paper's cost ends even.
func TestPartitionPrunes(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	devices := "sim:rtx3090,sim:rtx3090,sim:a40,sim:rtx3060"
	all := s.partition("--dataset", "generated", "--devices", devices, "--prune", "max=1", "--cost", "move=off", "--partitioner", "balance=1.5")
	if all.Pruned == nil || all.Pruned.Edges == 0 || all.Stop != string(rapa.StopBalanced) || all.Trace[len(all.Trace)-1].Sigma >= 0.01 {
		t.Errorf("pruned %+v, stopped %q, %+v", all.Pruned, all.Stop, all.Trace[len(all.Trace)-1])
	}
	some := s.partition("--dataset", "generated", "--devices", devices, "--prune", "max=0.02", "--cost", "move=off", "--partitioner", "balance=1.5", "--out", "p.plan")
	if some.Pruned.Share > 0.02 || some.Pruned.Edges == 0 || some.Stop != string(rapa.StopMaxPrune) {
		t.Errorf("pruned %+v, stopped %q", some.Pruned, some.Stop)
	}
	lost, rows := int64(0), int64(0)
	for _, p := range some.Parts {
		lost += p.Lost
		rows += p.Halo
	}
	if lost != some.Pruned.Edges || rows != some.HaloRows {
		t.Errorf("parts lost %d edges and read %d rows, in all %+v and %d", lost, rows, some.Pruned, some.HaloRows)
	}
	args := []string{"--dataset", "generated", "--devices", devices, "--epochs", "2", "--hidden", "16", "--plan", "p.plan"}
	one, other := s.train(append(args, "--eval-every", "1")...), s.train(append(args, "--eval-every", "0")...)
	if one.SHA256 != other.SHA256 {
		t.Error("evaluation changed a pruned run")
	}
}

// What fits no device ends with exit code 3, need against have and a remedy; what fits the devices together is shared out so
// that it fits each, whatever that costs.
func TestPartitionMemory(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.blocks("blocks.npz", 400)
	_, line, code := s.run("partition", "--quiet", "--dataset", "blocks.npz", "--devices", "sim:rtx3090,mem=100KiB,sim:rtx3090,mem=100KiB")
	if code != term.ExitDoesNotFit || strings.Count(line, "\n") != 1 || !strings.Contains(line, "can give") || !strings.Contains(line, "more (mem=)") {
		t.Errorf("exit code %d, %q", code, line)
	}
	alone := *s.partition("--dataset", "blocks.npz", "--devices", "sim:rtx3090").Parts[0].PeakBytes
	if _, line, code := s.run("partition", "--quiet", "--dataset", "blocks.npz", "--devices", fmt.Sprintf("sim:rtx3090,mem=%dB", alone-64)); code != term.ExitDoesNotFit || strings.Count(line, "\n") != 1 {
		t.Errorf("one device: exit code %d, %q", code, line)
	}
	r := s.partition("--dataset", "blocks.npz", "--devices", fmt.Sprintf("sim:rtx3090,mem=%dB,sim:gtx1660ti", alone*3/5))
	for _, p := range r.Parts {
		if *p.PeakBytes > *p.Budget {
			t.Errorf("part %d needs %d of %d bytes", p.Part, *p.PeakBytes, *p.Budget)
		}
	}
}

// A graph with nothing to learn from is cut all the same; train refuses it.
func TestPartitionBareGraph(t *testing.T) {
	s := newSandbox(t)
	st := newStore()
	delete(st, "x")
	delete(st, "y")
	st.write(s, "bare.npz")
	if r := s.partition("--dataset", "bare.npz", "--parts", "2"); r.EdgeCut != 0 || len(r.Parts) != 2 || r.Parts[0].Inner != 30 {
		t.Errorf("two rings cut in two: %+v", r)
	}
	if r := s.partition("--dataset", "bare.npz", "--devices", "sim:rtx3090,sim:gtx1660ti"); r.Forecast != nil || r.Parts[0].Lambda == nil {
		t.Errorf("without features: %+v", r)
	}
}

func TestPartitionUsage(t *testing.T) {
	s := newSandbox(t)
	for _, tc := range []struct{ want, args string }{
		{"--parts", "--dataset generated"},
		{"--dataset", "--parts 2"},
		{"4,000 vertices", "--dataset generated --parts 4001"},
		{"metis", "--dataset generated --parts 2 --partitioner metis"},
		{"cut", "--dataset generated --parts 2 --partitioner objective=cuts"},
		{"volume", "--dataset generated --parts 2 --partitioner objective=volume --partitioner random"},
		{"colour", "--dataset generated --parts 2 --partitioner by=colour"},
		{"balance", "--dataset generated --parts 2 --partitioner balance=0.5"},
		{"--devices", "--dataset generated --parts 2 --partitioner by=memory"},
		{"work", "--dataset generated --parts 2 --partitioner by=work"},
		{"--prune max=1.5", "--dataset generated --devices sim:a40,sim:a40 --prune max=1.5"},
		{"rtx9999", "--dataset generated --devices sim:rtx9999"},
		{"clock", "--dataset generated --devices sim:a40,cpu:0"},
		{"out", "--dataset generated --parts 2 --out ./nowhere/p.plan"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			inner := sandboxIn(t, s.Dir)
			inner.fails(term.ExitUsage, []string{tc.want}, append([]string{"partition", "--quiet"}, strings.Fields(tc.args)...)...)
		})
	}
}

// A card of one's own describes a device as an embedded one does.
func TestCardFile(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.put("mine.json", []byte(`{"model": "mine", "source": "made up", "n": 1000, "mm_s": 0.01, "spmm_s": 0.02, "h2d_s": 0.001, "d2h_s": 0.001, "idt_s": 0.0001, "memory_bytes": 1073741824}`))
	s.put("slow.json", []byte(`{"model": "mine", "n": 1000, "mm_s": -1}`))
	s.put("junk.json", []byte(`[1]`))
	r := s.partition("--dataset", "generated", "--devices", "sim:mine.json,sim:mine.json,slow=2")
	if *r.Parts[0].Budget != 1<<30 || r.Parts[0].Inner <= r.Parts[1].Inner {
		t.Errorf("%+v", r.Parts)
	}
	for name, want := range map[string]string{"slow.json": "mm", "junk.json": "card", "nowhere.json": "nowhere.json"} {
		s.fails(term.ExitUsage, []string{want}, "partition", "--quiet", "--dataset", "generated", "--devices", "sim:"+name)
	}
}

// A device of a profile can be simulated, as often as one likes; links that share a bus are slower together.
func TestSimulatedProfile(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.must("profile", "--quick", "--devices", "cpu:threads=1,cpu:threads=1,slow=2", "--out", "p.json", "--quiet")
	s.blocks("blocks.npz", 1000)
	r := s.partition("--dataset", "blocks.npz", "--devices", "sim:p.json,sim:p.json#1,sim:p.json#0")
	if len(r.Parts) != 3 || r.Forecast == nil || r.Forecast.EpochS <= 0 {
		t.Errorf("%+v", r)
	}
	s.fails(term.ExitUsage, []string{"p.json", "#2"}, "partition", "--quiet", "--dataset", "blocks.npz", "--devices", "sim:p.json#2")
	alone := s.partition("--dataset", "blocks.npz", "--devices", "sim:a40,sim:a40")
	shared := s.partition("--dataset", "blocks.npz", "--devices", "sim:a40,bus=100MiB/s,sim:a40,bus=100MiB/s")
	if shared.Forecast.EpochS <= 1.2*alone.Forecast.EpochS {
		t.Errorf("an epoch takes %g s on a slow bus, %g s without", shared.Forecast.EpochS, alone.Forecast.EpochS)
	}
}

// A choice of devices that parts do not fit is left out; all devices together are not refused for it.
func TestPlanOfChoicesThatDoNotFit(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	s.blocks("blocks.npz", 400)
	var m training.MemoryPlan
	const device = "sim:rtx3090,mem=2000KiB"
	if err := json.Unmarshal([]byte(s.must("plan", "--json", "--quiet", "--dataset", "blocks.npz", "--devices", device+","+device+","+device)), &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Subsets) != 2 || len(m.Subsets[0].Devices) != 3 || len(m.Subsets[1].Devices) != 1 || m.Subsets[1].Fits {
		t.Errorf("choices: %+v", m.Subsets)
	}
}

// plan forecasts every choice of devices that differs, the fastest first.
func TestPlanSubsets(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	var m training.MemoryPlan
	s.blocks("blocks.npz", 300)
	out := s.must("plan", "--json", "--quiet", "--dataset", "blocks.npz", "--devices", "sim:rtx3090,sim:rtx3090,sim:a40")
	if err := json.Unmarshal([]byte(out), &m); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for i, c := range m.Subsets {
		seen[strings.Join(c.Devices, " ")] = true
		if !c.Fits || c.EpochS <= 0 || c.Peak == 0 || i > 0 && c.EpochS < m.Subsets[i-1].EpochS {
			t.Errorf("choice %d: %+v", i, c)
		}
		if len(c.Devices) == 1 && c.Devices[0] == "sim:rtx3090" && c.Speedup != 1 {
			t.Errorf("the fastest device alone: %+v", c)
		}
	}
	if len(seen) != 5 || len(m.Subsets) != 5 {
		t.Errorf("choices %v", seen)
	}
	rate := map[string]float64{} // of one device, over the fastest
	for _, c := range m.Subsets {
		if len(c.Devices) == 1 {
			rate[c.Devices[0]] = c.Speedup
		}
	}
	for _, c := range m.Subsets {
		sum := 0.0
		for _, d := range c.Devices {
			sum += rate[d]
		}
		if math.Abs(c.Sum-sum) > 1e-9 || c.Doubtful() {
			t.Errorf("%v: %g times as fast as the fastest, one by one %g, said to be %g", c.Devices, c.Speedup, sum, c.Sum)
		}
	}
}
