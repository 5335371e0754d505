package main

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/report"
)

// traceOf reads the trace of a run as reports do, and checks it: queues have names, what they did lies in the epoch, in order and without overlap.
func (s *sandbox) traceOf(run string) *report.Trace {
	s.T.Helper()
	f, err := os.Open(s.path(run + "/trace.json"))
	if err != nil {
		s.T.Fatal(err)
	}
	defer f.Close()
	trace, err := report.ReadTrace(f)
	if err != nil {
		s.T.Fatal(err)
	}
	for _, lane := range trace.Lanes {
		at := 0.0
		for _, span := range lane.Spans {
			if lane.Device == "" || lane.Queue == "" || span.Start < at-1e-9 || span.End <= span.Start || span.End > trace.Seconds+1e-9 {
				s.T.Fatalf("%s: %s %s: %+v behind %v of %v s", run, lane.Device, lane.Queue, span, at, trace.Seconds)
			}
			at = span.End
		}
	}
	return trace
}

// secondsOf sums up what lanes did of a kind.
func secondsOf(trace *report.Trace, kind string) (sum float64) {
	for _, lane := range trace.Lanes {
		for _, span := range lane.Spans {
			if span.Kind == kind {
				sum += span.End - span.Start
			}
		}
	}
	return sum
}

// An epoch's trace has the times that metrics.jsonl counts, on CPU devices and simulated ones, full-batch and sampled; it changes no bit, and the page draws it.
func TestTraceOfAnEpoch(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for name, args := range map[string][]string{
		"cpu":      small("--devices", "cpu:0,threads=1,cpu:1,threads=1"),
		"sim":      small("--devices", "sim:rtx3090,sim:gtx1650", "--staleness", "2"),
		"pipeline": small("--devices", "cpu:0,threads=1,cpu:1,threads=1", "--staleness", "1,pipeline=on"),
		"isolated": small("--devices", "cpu:0,threads=1,cpu:1,threads=1", "--isolated"),
		"phases":   small("--devices", "cpu:0,threads=1,cpu:1,threads=1", "--parts", "4", "--isolated=phases=2"),
		"sampled":  small("--devices", "cpu:0,threads=1,cpu:1,threads=1", "--batch-size", "10"),
	} {
		plain := s.train(append(args, "--run-dir", name+"-plain")...)
		traced := s.train(append(args, "--run-dir", name, "--trace", "3")...)
		if plain.SHA256 != traced.SHA256 {
			t.Errorf("%s: tracing changes the weights", name)
		}
		if term.Exists(s.path(name + "-plain/trace.json")) {
			t.Errorf("%s: a trace that nobody asked for", name)
		}
		trace := s.traceOf(name)
		if trace.Name != "epoch 3" || len(trace.Lanes) < 2 || trace.Kept != trace.Seconds {
			t.Errorf("%s: %s with %d lanes", name, trace.Name, len(trace.Lanes))
		}
		devices := map[string]bool{}
		for _, lane := range trace.Lanes {
			devices[lane.Device] = true
		}
		if len(devices) != 2 {
			t.Errorf("%s: devices %v", name, devices)
		}
		data, err := os.ReadFile(s.path(name + "/metrics.jsonl"))
		if err != nil {
			t.Fatal(err)
		}
		var epoch struct {
			EpochS  float64            `json:"epoch_s"`
			DeviceS map[string]float64 `json:"device_s"`
		}
		if err := json.Unmarshal([]byte(strings.Split(string(data), "\n")[3]), &epoch); err != nil {
			t.Fatal(err)
		}
		if trace.Seconds < epoch.EpochS*(1-1e-6) {
			t.Errorf("%s: the trace is of %v s, the epoch took %v s", name, trace.Seconds, epoch.EpochS)
		}
		for _, kind := range []string{"mm", "aggregation"} {
			if got, want := secondsOf(trace, kind), epoch.DeviceS[kind]; math.Abs(got-want) > 0.01*want+1e-5 {
				t.Errorf("%s: %s takes %v s in the trace, metrics say %v s", name, kind, got, want)
			}
		}
		page, err := os.ReadFile(s.path(name + "/report.html"))
		if err != nil || !strings.Contains(string(page), `id="timeline"`) || !strings.Contains(string(page), "did in epoch 3, which took") {
			t.Errorf("%s: the page draws no timeline: %v", name, err)
		}
	}
}

// Of two ranks rank 0 traces its own device, and weights stay as they are.
func TestTraceOfRanks(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	args := []string{"--dataset", "ok.npz", "--hidden", "8", "--epochs", "3", "--quiet"}
	for _, e := range (progtest.RankRun{Sandbox: s.Sandbox, Args: append(args, "--devices", progtest.CPUs(1), "--run-dir", "two", "--trace", "1")}).Over(2) {
		if e.Code != 0 {
			t.Fatalf("exit code %d: %s", e.Code, e.Err)
		}
	}
	one := s.train(append(args, "--devices", progtest.CPUs(2), "--run-dir", "one")...)
	two, err := runfolder.Dir(s.path("two")).ReadResult()
	if err != nil || two.SHA256 != one.SHA256 {
		t.Errorf("the weights are others, %v", err)
	}
	trace := s.traceOf("two")
	for _, lane := range trace.Lanes {
		if lane.Device != trace.Lanes[0].Device {
			t.Errorf("devices %s and %s", trace.Lanes[0].Device, lane.Device)
		}
	}
	if trace.Name != "epoch 1" || secondsOf(trace, "mm") <= 0 {
		t.Errorf("%s", trace.Name)
	}
}

// An epoch that is not there is refused, and one that was trained before is a note; seeds are refused.
func TestTraceOfNoEpoch(t *testing.T) {
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.fails(term.ExitUsage, []string{"--trace 12 with --epochs 12", "0 to 11"}, append([]string{"train"}, small("--trace", "12")...)...)
	s.fails(term.ExitUsage, []string{"--trace -1"}, append([]string{"train"}, small("--trace=-1")...)...)
	s.fails(term.ExitUsage, []string{"--seeds with --trace"}, append([]string{"train"}, small("--seeds", "1,2", "--trace", "1")...)...)
	s.train(small("--run-dir", "a")...)
	_, stderr, code := s.run("train", "--resume", "a", "--trace", "3")
	if code != 0 || !strings.Contains(stderr, "no trace: epoch 3 was not trained now") || term.Exists(s.path("a/trace.json")) {
		t.Errorf("of a finished run: %d, %s", code, stderr)
	}
	s.put("a/trace.json", []byte(`{"traceEvents":[]}`))
	s.fails(term.ExitUsage, []string{"trace.json", "train --trace"}, "report", "a")
}
