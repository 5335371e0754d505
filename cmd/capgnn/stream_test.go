package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/prediction"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/gpu"
)

// A device that cannot hold its parts together lets them take turns, and says so in a line: weights are those of the
// same parts held together, and the device takes what was planned and no more than its budget.
func TestStream(t *testing.T) {
	s := newSandbox(t)
	s.must("data", "synth", "products-like", "--scale", "0.0005", "--out", "data", "--quiet")
	args := func(device string, more ...string) []string {
		return append([]string{"--dataset", "data", "--hidden", "64", "--epochs", "4", "--order", "none", "--devices", device}, more...)
	}
	const large, tight = "cpu:threads=1", "cpu:threads=1,mem=1200KiB"
	out, notes, code := s.run(append([]string{"plan"}, args(tight)...)...)
	if code != 0 || !strings.Contains(out, "parts held together would take") || !strings.Contains(out, "\nturns ") {
		t.Errorf("plan: exit code %d, %s%s", code, out, notes)
	}
	var m training.MemoryPlan
	if err := json.Unmarshal([]byte(s.must(append([]string{"plan", "--json", "--quiet"}, args(tight)...)...)), &m); err != nil {
		t.Fatal(err)
	}
	out, notes, code = s.run(append([]string{"train", "--json", "--run-dir", "tight"}, args(tight)...)...)
	if code != 0 || !strings.Contains(notes, "stream: "+tight+" has 1.2 MiB and would have to hold ") || !strings.Contains(notes, " take turns in ") {
		t.Fatalf("train: exit code %d, %s", code, notes)
	}
	streamed := readResultLine(t, out)
	if p := streamed.PeakBytes.Devices[0]; p != int64(m.Devices[0].Peak) || p > 1200<<10 || !m.Devices[0].Fits || len(m.Held) != 1 || m.Held[0] <= 1200<<10 {
		t.Errorf("planned %d bytes, %v for held parts; took %d", m.Devices[0].Peak, m.Held, p)
	}
	held := s.train(args(large, "--plan", s.path("tight/plan.bin"), "--parts", fmt.Sprint(m.Parts))...)
	if m.Parts < 2 || held.SHA256 != streamed.SHA256 || held.FinalLoss != streamed.FinalLoss {
		t.Errorf("%d parts: weights %.12s, held together %.12s", m.Parts, streamed.SHA256, held.SHA256)
	}
	resumed := s.train("--resume", "tight", "--epochs", "6")
	longer := s.train(args(large, "--plan", s.path("tight/plan.bin"), "--parts", fmt.Sprint(m.Parts), "--epochs", "6")...)
	if resumed.SHA256 != longer.SHA256 {
		t.Errorf("resumed: weights %.12s, uninterrupted %.12s", resumed.SHA256, longer.SHA256)
	}
	const uneven = "cpu:threads=1,mem=900KiB,cpu:threads=1,slow=2,mem=900KiB" // held parts fit no division of them
	s.measured(uneven)
	s.fails(term.ExitDoesNotFit, []string{"the parts need"}, append([]string{"train", "--quiet", "--run-dir", "no", "--stream", "off"}, args(uneven)...)...)
	for _, command := range []string{"plan", "train"} {
		if _, notes, code := s.run(append([]string{command}, args(uneven)...)...); code != 0 || !strings.Contains(notes, " take turns in ") {
			t.Errorf("%s on unequal devices: exit code %d, %s", command, code, notes)
		}
	}
	fails := func(code int, want string, more ...string) {
		t.Helper()
		s.fails(code, []string{want}, append([]string{"train", "--quiet", "--run-dir", "no"}, more...)...)
	}
	fails(term.ExitDoesNotFit, "the run needs", args(tight, "--stream", "off")...)
	fails(term.ExitDoesNotFit, "the run needs", args("cpu:threads=1,mem=40KiB")...)
	fails(term.ExitUsage, "--staleness", args(large, "--stream", "on", "--staleness", "1")...)
	fails(term.ExitUsage, "--halo-dtype", args(large, "--stream", "on", "--halo-dtype", "int8")...)
	fails(term.ExitUsage, "--isolated", args(large, "--stream", "on", "--isolated=chunks=4")...)
	fails(term.ExitUsage, "--stream on", args(large, "--stream", "on", "--batch-size", "8")...)
	s.must("train", "--quiet", "--dataset", "data", "--epochs", "1", "--devices", large, "--run-dir", "sampled", "--stream", "auto", "--batch-size", "8")
	fails(term.ExitUsage, "simulated", args("sim:rtx3060", "--stream", "on")...)
	fails(term.ExitUsage, "give --parts 2 or more", args(large, "--stream", "on", "--parts", "1")...)
}

// A prediction that a device cannot hold is of parts that take turns: logits are those of the same parts on devices of
// their own, and the device takes what the line about it says.
func TestPredictInTurns(t *testing.T) {
	s := newSandbox(t)
	s.must("data", "synth", "products-like", "--scale", "0.0005", "--out", "data", "--quiet")
	for i, v := range [][]string{{"gcn", "--halo-dtype", "int8"}, {"sage", "--stream", "off"}, {"gat"},
		{"gcn", "--batch-size", "32"}} {
		run := fmt.Sprint("run", i)
		s.must(append([]string{"train", "--quiet", "--run-dir", run, "--dataset", "data", "--hidden", "64",
			"--epochs", "1", "--devices", "cpu:threads=1", "--model"}, v...)...)
		predict := func(out, list string) (peak int64, notes string) {
			t.Helper()
			line, notes, code := s.run("predict", "--json", "--run", run, "--devices", list, "--out", out)
			var r prediction.Result
			if err := json.Unmarshal([]byte(line), &r); err != nil || code != 0 {
				t.Fatalf("%v: exit code %d, %v, %s", v, code, err, notes)
			}
			return int64(r.PeakBytes[0]), notes
		}
		one, _ := predict("one.npy", "cpu:threads=1")
		predict("two.npy", "cpu:threads=1,cpu:threads=1")
		tight := fmt.Sprintf("cpu:threads=1,mem=%dKiB", one>>10-1)
		peak, notes := predict("turns.npy", tight)
		if len(v) > 1 && v[1] == "--batch-size" {
			if strings.Contains(notes, "turns") {
				t.Errorf("%v: chunks take turns by themselves: %s", v, notes)
			}
			continue
		}
		if !strings.Contains(notes, "2 parts take turns in up to "+term.Size(gpu.Bytes(peak))) || peak >= one {
			t.Errorf("%v: held it takes %d bytes, in turns %d: %s", v, one, peak, notes)
		}
		two, err := os.ReadFile(s.path("two.npy"))
		turns, turnsErr := os.ReadFile(s.path("turns.npy"))
		if err := errors.Join(err, turnsErr); err != nil || !bytes.Equal(two, turns) {
			t.Errorf("%v: parts that take turns have other logits than parts that are held: %v", v, err)
		}
		s.fails(term.ExitDoesNotFit, []string{"the prediction needs"}, "predict", "--quiet", "--run", run,
			"--devices", "cpu:threads=1,mem=40KiB")
	}
}

// No order of vertices is measured for a run whose weights alone are too large for a device.
func TestRefusedRunsAreNotOrdered(t *testing.T) {
	s := newSandbox(t)
	_, notes, code := s.run("plan", "--dataset", "generated", "--devices", "sim:rtx3090", "--hidden", "100000")
	if code != term.ExitDoesNotFit || strings.Contains(notes, "order:") || !strings.Contains(notes, ", which fits") {
		t.Errorf("exit code %d, %s", code, notes)
	}
}
