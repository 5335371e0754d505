package training

import (
	"fmt"
	"maps"
	"math"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"capgnn/cluster"
	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/ranks"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
)

// small returns a run of a process that may have so many bytes more.
func small(t *testing.T, free int64, settings map[string]string) *Run {
	t.Helper()
	ask := func() (int64, int64, error) { return free, math.MaxInt64, nil }
	r := New(quiet(), "", runfolder.Default())
	r.Free, r.RunPath = ask, filepath.Join(t.TempDir(), "run")
	all := map[string]string{"dataset": "generated", "devices": "cpu:threads=1,mem=8GiB,cpu:threads=1,mem=8GiB", "epochs": "1"}
	maps.Copy(all, settings)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		r.Config.Set(name, all[name])
	}
	return r
}

// checked takes the steps before training, and returns where they end: before devices and the run folder hold anything.
func checked(t *testing.T, r *Run) error {
	t.Helper()
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	err := r.prepare(t.Context())
	for _, d := range r.Devices {
		if used := d.Memory().HighWater; used > 0 {
			t.Errorf("%d bytes of %s were taken before training", used, d.Info().Name)
		}
	}
	if _, found := os.Stat(r.RunPath); found == nil {
		t.Errorf("there is a run folder before training")
	}
	devices.CloseAll(r.Devices)
	return err
}

var fitting = regexp.MustCompile(`give --([a-z-]+) ([a-z0-9]+), which fits`)

// What the process may not have ends a run before anything is placed, whatever devices are said to have, and what its line says fits does.
func TestLimitOfTheHost(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for name, settings := range map[string]map[string]string{
		"full":     {"hidden": "512"},
		"one part": {"hidden": "512", "devices": "cpu:threads=1,mem=8GiB"},
		"sampled":  {"hidden": "512", "batch-size": "512"},
		"isolated": {"hidden": "512", "isolated": "chunks=4"},
		"phases":   {"hidden": "512", "isolated": "chunks=4,phases=2", "model": "sage"},
	} {
		if err := checked(t, small(t, 8<<30, settings)); err != nil {
			t.Errorf("%s: 8 GiB: %v", name, err)
			continue
		}
		advised := 0
		for free := int64(1 << 20); free < 256<<20; free *= 2 {
			err := checked(t, small(t, free, settings))
			if err == nil {
				break
			}
			if term.ExitCode(err) != term.ExitDoesNotFit || !strings.Contains(err.Error(), "this process may have") {
				t.Errorf("%s: %d MiB: %v", name, free>>20, err)
			}
			says := fitting.FindStringSubmatch(term.OneLine(err))
			if says == nil {
				continue
			}
			advised++
			with := maps.Clone(settings)
			with[says[1]] = says[2]
			if err := checked(t, small(t, free, with)); err != nil {
				t.Errorf("%s: %d MiB, with --%s %s: %v", name, free>>20, says[1], says[2], err)
			}
		}
		if advised == 0 && name != "phases" {
			t.Errorf("%s: no setting was said to fit", name)
		}
	}
}

// What devices are said to lack is enough for each of them, and of one that holds whole parts at most 1.25 times what is
// needed: where evaluation takes more of a larger one, where some have one name, and where parts are others in more memory.
func TestMoreIsEnough(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	sampled := map[string]string{"batch-size": "64"}
	for _, tc := range []struct {
		device string
		kib    []float64 // of each
		mode   map[string]string
		says   string
	}{
		{"cpu:threads=1", []float64{300}, nil, "give it"}, {"cpu:threads=1", []float64{300}, sampled, "give it"},
		{"cpu:threads=1", []float64{900}, nil, "give it"}, {"cpu:threads=1", []float64{700}, sampled, "give it"},
		{"cpu:threads=1", []float64{500, 500}, nil, "give each device"}, {"cpu:threads=1", []float64{500, 500}, sampled, "give each device"},
		{"cpu:threads=1", []float64{300, 500}, sampled, "give each device"}, {"cpu:threads=1", []float64{9000, 500, 500}, sampled, "give each cpu:threads=1,mem=500KiB"},
		{"cpu:threads=1", []float64{9000, 500, 700}, nil, "give cpu:threads=1,mem=500KiB"}, {"sim:rtx3090", []float64{700, 500}, nil, "give each device"},
		{"sim:rtx3090", []float64{90000, 60}, nil, "give sim:rtx3090,mem=60KiB"},
		{"sim:rtx3090", []float64{60}, nil, "give it"}, {"sim:rtx3090", []float64{4}, nil, "give it"}, {"sim:rtx3090", []float64{900}, map[string]string{"hidden": "512"}, "give it"},
	} {
		settings := func() map[string]string {
			var list []string
			for _, n := range tc.kib {
				list = append(list, fmt.Sprintf("%s,mem=%.0fKiB", tc.device, n))
			}
			all := map[string]string{"parts": strconv.Itoa(len(list)), "hidden": "16", "devices": strings.Join(list, ",")}
			maps.Copy(all, tc.mode)
			return all
		}
		had := settings()
		line := term.OneLine(checked(t, small(t, 8<<30, had)))
		if !strings.Contains(line, "; "+tc.says) {
			t.Errorf("%v: %s", had, line)
			continue
		}
		_, says, _ := strings.Cut(line, "; give ")
		says, _, _ = strings.Cut(says, " more (mem=)")
		more := make([]float64, len(tc.kib))
		for item := range strings.SplitSeq(says, " and ") {
			words := strings.Fields(strings.TrimPrefix(item, "each "))
			lacks, _ := strconv.ParseFloat(words[1], 64)
			if words[2] == "MiB" {
				lacks *= 1024
			}
			for i, n := range tc.kib {
				if words[0] == "it" || words[0] == "device" || words[0] == fmt.Sprintf("%s,mem=%.0fKiB", tc.device, n) {
					more[i] = lacks
				}
			}
		}
		for i, n := range more {
			tc.kib[i] += n
		}
		if err := checked(t, small(t, 8<<30, settings())); err != nil {
			t.Errorf("%v: %s: %v", had, line, err)
		}
		if len(tc.kib) == 1 && tc.mode["batch-size"] == "" {
			if tc.kib[0] /= 1.25; checked(t, small(t, 8<<30, settings())) == nil {
				t.Errorf("%v: %s: it fits %.0f KiB", had, line, tc.kib[0])
			}
		}
	}
}

// Ranks end together where one of them may not have what it needs, and what its line says fits does.
func TestLimitOfARank(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for _, mode := range []map[string]string{{"hidden": "512"}, {"hidden": "512", "batch-size": "512"}} {
		faults := together(t, mode)
		for rank, err := range faults {
			if term.ExitCode(err) != term.ExitDoesNotFit || !strings.Contains(err.Error(), "rank 1") || !strings.Contains(err.Error(), "this process may have") {
				t.Errorf("%v: rank %d: %v", mode, rank, err)
			}
		}
		if says := fitting.FindStringSubmatch(term.OneLine(faults[0])); says != nil {
			with := maps.Clone(mode)
			with[says[1]] = says[2]
			if faults := together(t, with); faults[0] != nil || faults[1] != nil {
				t.Errorf("%v: %v", with, faults)
			}
		} else if mode["batch-size"] != "" {
			t.Errorf("%v: %v", mode, faults[0])
		}
	}
}

// together takes the steps before training of two ranks, of which the second may have 56 MiB more: a half of what is said to be free.
func together(t *testing.T, settings map[string]string) [2]error {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	master := l.Addr().String()
	l.Close()
	var faults [2]error
	var wait sync.WaitGroup
	for rank := range faults {
		r := small(t, []int64{8 << 30, 112 << 20}[rank], settings)
		r.Own.Devices = "cpu:threads=1,mem=8GiB"
		wait.Go(func() {
			s := ranks.Settings{Place: cluster.Place{Rank: rank, Ranks: 2, Master: master}, Secret: make([]byte, 32), JoinTimeout: time.Minute, PeerTimeout: time.Minute}
			var err error
			if r.Ranks, err = ranks.Join(t.Context(), r.Console, s, cluster.Facts{}); err != nil {
				faults[rank] = err
				return
			}
			faults[rank] = checked(t, r)
			_ = r.Ranks.Close() // it says what faults say
		})
	}
	wait.Wait()
	return faults
}

// A batch size is advised only beside flags that it goes with, whatever their values.
func TestAdviceGoesWithFlags(t *testing.T) {
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	for given, goes := range map[string]bool{"peer": false, "cache": false, "cost": false, "cache.gpu": true, "storage": true} {
		r := small(t, 8<<30, map[string]string{"model": "gcn", "layers": "2", "hidden": "8", "devices": "cpu:threads=1,mem=700000B,cpu:threads=1,mem=700000B", "parts": "2"})
		r.Given = []string{given}
		if err := checked(t, r); term.ExitCode(err) != term.ExitDoesNotFit || strings.Contains(term.OneLine(err), "--batch-size") != goes {
			t.Errorf("beside --%s: %v", given, err)
		}
	}
}
