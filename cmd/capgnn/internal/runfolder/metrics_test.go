package runfolder

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"capgnn/gpu"
	"capgnn/internal/learn"
	"capgnn/pipeline"
)

func stats(epoch int, loss float64) pipeline.EpochStats {
	return pipeline.EpochStats{Epoch: epoch, Loss: loss, Train: time.Second, Usage: gpu.Usage{D2H: 8, H2D: 16, Peer: 32}}
}

func TestMetricsLine(t *testing.T) {
	half := 0.5
	s := stats(3, float64(float32(1)/3))
	s.Eval, s.Metrics = true, learn.Metrics{Train: &half, ValLoss: &half}
	data, err := json.Marshal(new(Metrics).line(s))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`{"epoch":3,"loss":0.333333343,`, `"train":0.5,"val":null,"test":null,"val_loss":0.5`, `"bytes":{"d2h":8,"h2d":16,"peer":32,"host":0,"refresh":0}`, `"epoch_s":1,`} {
		if !strings.Contains(string(data), want) {
			t.Errorf("%s lacks %s", data, want)
		}
	}
	data, err = json.Marshal(new(Metrics).line(stats(0, math.NaN())))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), `"loss":null`) || strings.Contains(string(data), `"val"`) {
		t.Errorf("%s: want a null loss and no metrics", data)
	}
}

// Runs of several parts say how long each of them worked, and lines stay short.
func TestMetricsOfParts(t *testing.T) {
	for parts, want := range map[int]int{1: 0, 2: 2, maxPartsInMetrics: maxPartsInMetrics, maxPartsInMetrics + 1: 0} {
		s := stats(0, 1)
		for p := range parts {
			u := gpu.Usage{}
			u.Time[gpu.PhaseMM] = time.Duration(p+1) * time.Millisecond
			s.Parts = append(s.Parts, u)
		}
		line := (&Metrics{}).line(s)
		if len(line.PartS) != want {
			t.Fatalf("%d parts: times of %d in the line, want %d", parts, len(line.PartS), want)
		}
		for p, phases := range line.PartS {
			if got := float64(p+1) / 1000; phases.MM != got {
				t.Errorf("part %d: %g s, want %g", p, phases.MM, got)
			}
		}
	}
}

// A resumed run appends behind the checkpoint's epoch, whatever the stopped one left behind it.
func TestMetricsResume(t *testing.T) {
	path := filepath.Join(t.TempDir(), "metrics.jsonl")
	var want bytes.Buffer
	for e := range 6 {
		line, err := json.Marshal(new(Metrics).line(stats(e, float64(e))))
		if err != nil {
			t.Fatal(err)
		}
		want.Write(append(line, '\n'))
	}
	for name, left := range map[string]string{
		"nothing behind":      "",
		"later epochs behind": strings.Repeat(`{"epoch":3,"loss":9}`+"\n", 2),
		"half a line behind":  `{"epoch":3,"lo`,
		"no JSON behind":      "\x00\x00\n{\"epoch\":4}\n",
	} {
		t.Run(name, func(t *testing.T) {
			first := Metrics{Path: path}
			os.Remove(path)
			for e := range 3 {
				if err := first.Append(stats(e, float64(e))); err != nil {
					t.Fatal(err)
				}
			}
			if err := first.Close(); err != nil {
				t.Fatal(err)
			}
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				t.Fatal(err)
			}
			f.WriteString(left)
			f.Close()
			second := Metrics{Path: path}
			for e := 3; e < 6; e++ {
				if err := second.Append(stats(e, float64(e))); err != nil {
					t.Fatal(err)
				}
			}
			if err := second.Close(); err != nil {
				t.Fatal(err)
			}
			got, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want.Bytes()) {
				t.Errorf("got\n%swant\n%s", got, want.Bytes())
			}
		})
	}
}
