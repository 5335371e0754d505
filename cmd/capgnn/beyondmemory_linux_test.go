package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/stores"
	"capgnn/graph/synth"
	"capgnn/internal/long"
)

// Training on samples keeps graph and features in their files, and so tables of evaluation where the device is given little memory: what the process has
// of its own is a quarter of the data set at most.
func TestTrainsBeyondMemory(t *testing.T) {
	if !long.Wanted() {
		t.Skip("writes 330 MiB: CAPGNN_LONG=1")
	}
	s := newSandbox(t)
	g, err := synth.RMAT(20, 16, 1)
	if err != nil {
		t.Fatal(err)
	}
	const cols = 64
	n := g.Rows()
	d := &dataset.Dataset{Name: "large", Graph: g, Classes: 16, Labels: make([]int32, n), Train: make([]bool, n), Val: make([]bool, n), Test: make([]bool, n)}
	d.Features = dataset.Features{Cols: cols, Dense: make([]float32, n*cols)}
	for i := range d.Features.Dense {
		d.Features.Dense[i] = float32(i*2654435761>>16&0xff) / 256
	}
	for v := range n {
		d.Labels[v] = int32(v % 16)
		d.Train[v], d.Val[v], d.Test[v] = v%100 == 0, v%100 == 1, v%100 == 2
	}
	if err := stores.Write(s.path("large"), d, nil); err != nil {
		t.Fatal(err)
	}
	size := int64(len(g.Indices))*4 + int64(len(g.Indptr))*8 + int64(len(d.Features.Dense))*4
	cmd := s.command("train", "--dataset", "large", "--model", "sage", "--layers", "2", "--hidden", "64", "--batch-size", "1024", "--fanout", "10,all", "--epochs", "1",
		"--devices", "cpu:threads=2,mem=48MB", "--run-dir", "run", "--quiet")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }() // which this test waits for
	peak := int64(0)
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		select {
		case err := <-ended:
			if tick.Stop(); err != nil {
				t.Fatal(err)
			}
			t.Logf("%d MiB of its own, of data of %d MiB", peak>>20, size>>20)
			if peak == 0 || peak > size/4 {
				t.Errorf("%d bytes of its own at most, the data are %d", peak, size)
			}
			return
		case <-tick.C:
			peak = max(peak, anonymous(cmd.Process.Pid))
		}
	}
}

// anonymous returns the resident memory of a process that is of no file, in bytes; 0 where it cannot be told.
func anonymous(pid int) int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, ok := strings.Cut(string(text), "RssAnon:")
	var kib int64
	if _, scan := fmt.Sscan(rest, &kib); err != nil || !ok || scan != nil {
		return 0
	}
	return kib << 10
}
