package main

import (
	"fmt"
	"os"
	"reflect"
	"syscall"
	"testing"

	"capgnn/internal/long"
)

// A run that is stopped, killed or by Ctrl-C, and resumed counts in every epoch what one counts that was left alone, and in all.
func TestCountersOfStoppedRuns(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	for n, more := range [][]string{
		{"--staleness", "4", "--peer", "off"},
		{"--staleness", "8", "--halo-dtype", "int8", "--staleness", "layers=1,2"},
	} {
		name := func(what string) string { return fmt.Sprint(what, n) }
		args := cached(append(more, "--epochs", "200", "--hidden", "32", "--checkpoint-every", "7")...)
		whole := s.train(append(args, "--run-dir", name("whole"))...)
		want := withoutTimes(metricsOf(t, s.path(name("whole"))))
		for i, signal := range []os.Signal{syscall.SIGKILL, syscall.SIGINT} {
			if i != n%2 && !long.Wanted() {
				continue
			}
			what := []string{"killed", "stopped"}[i]
			cmd := s.command(append([]string{"train", "--quiet", "--run-dir", name(what)}, args...)...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			waitForEpochs(t, cmd, s.path(name(what)), 40)
			_ = cmd.Process.Signal(signal)
			_ = cmd.Wait()
			r := s.train("--resume", name(what))
			got := withoutTimes(metricsOf(t, s.path(name(what))))
			for e := range min(len(got), len(want)) {
				if !reflect.DeepEqual(got[e], want[e]) {
					t.Fatalf("%v, %s: epoch %d counts\n%v, want\n%v", more, what, e, got[e], want[e])
				}
			}
			if len(got) != len(want) || r.Bytes != whole.Bytes || !reflect.DeepEqual(r.Cache, whole.Cache) || !reflect.DeepEqual(r.Staleness, whole.Staleness) {
				t.Errorf("%v, %s: %d epochs, %+v, %+v, %+v, want %+v, %+v, %+v", more, what, len(got), r.Bytes, r.Cache, r.Staleness, whole.Bytes, whole.Cache, whole.Staleness)
			}
		}
	}
}

// withoutTimes leaves of lines of metrics what does not depend on time.
func withoutTimes(lines []map[string]any) []map[string]any {
	for _, line := range lines {
		for _, key := range []string{"epoch_s", "eval_s", "reduce_s", "device_s", "part_s", "cpu_s", "meters"} {
			delete(line, key)
		}
	}
	return lines
}
