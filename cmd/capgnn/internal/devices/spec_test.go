package devices

import (
	"slices"
	"strings"
	"testing"
	"time"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
)

func TestParseDevices(t *testing.T) {
	for _, tc := range []struct {
		name, list string
		cores      int
		want       []Spec // without Text
	}{
		{"default", "auto", 6, []Spec{{Label: "0", Threads: 6, Slow: 1}}},
		{"all", "all", 2, []Spec{{Label: "0", Threads: 2, Slow: 1}}},
		{"number", "cpu:7", 4, []Spec{{Label: "7", Threads: 4, Slow: 1}}},
		{"share", "cpu:0,cpu:1", 5, []Spec{{Label: "0", Threads: 2, Slow: 1}, {Label: "1", Threads: 2, Slow: 1}}},
		{"share what is left", "cpu:threads=3,cpu:0", 4, []Spec{{Threads: 3, Slow: 1}, {Label: "0", Threads: 1, Slow: 1}}},
		{"more devices than cores", "cpu:0,cpu:1,cpu:2", 2, []Spec{{Label: "0", Threads: 1, Slow: 1}, {Label: "1", Threads: 1, Slow: 1}, {Label: "2", Threads: 1, Slow: 1}}},
		{"same name twice", "cpu:0,cpu:0", 2, []Spec{{Label: "0", Threads: 1, Slow: 1}, {Label: "0", Threads: 1, Slow: 1}}},
		{"settings", "cpu:threads=4,mem=8GiB", 1, []Spec{{Threads: 4, Slow: 1, Memory: 8 << 30}}},
		{"settings behind a number", "cpu:1,threads=2,mem=1.5MB", 1, []Spec{{Label: "1", Threads: 2, Slow: 1, Memory: 1500000}}},
		{"simulated", "sim:rtx3090,sim:a40,mem=1GiB,slow=2,link=2GiB/s,latency=1ms,bus=8GiB/s", 2, []Spec{
			{Card: "rtx3090", Slow: 1}, {Card: "a40", Slow: 2, Memory: 1 << 30, Link: 2 << 30, Latency: time.Millisecond, Bus: 8 << 30}}},
		{"bus", "cpu:threads=1,link=2GiB/s,bus=1GiB/s,cpu:threads=1,bus=1GiB/s", 2, []Spec{
			{Threads: 1, Slow: 1, Link: 2 << 30, Bus: 1 << 30}, {Threads: 1, Slow: 1, Bus: 1 << 30}}},
		{"slow link", "cpu:threads=1,slow=3,link=1GiB/s,latency=20us,cpu:threads=1", 2, []Spec{
			{Threads: 1, Slow: 3, Link: 1 << 30, Latency: 20 * time.Microsecond}, {Threads: 1, Slow: 1}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := Parse(tc.list)
			if err != nil {
				t.Fatal(err)
			}
			ShareCores(got, tc.cores)
			again, err := Parse(Format(got))
			if err != nil {
				t.Fatalf("reading %q back: %v", Format(got), err)
			}
			ShareCores(again, 99)
			for i := range got {
				got[i].Text = ""
			}
			for i := range again {
				again[i].Text = ""
			}
			if !slices.Equal(got, tc.want) {
				t.Errorf("got %+v, want %+v", got, tc.want)
			}
			if !slices.Equal(again, tc.want) {
				t.Errorf("%q read back gives %+v, want %+v", Format(got), again, tc.want)
			}
		})
	}
}

func TestParseDevicesRefuses(t *testing.T) {
	for _, list := range []string{
		"cuda:", "cuda:x", "cuda:-1", "cuda:0,slow=2", "cuda:0,threads=1", "cuda:0,bus=1GiB/s", "cuda:mem=1GiB", "sim:rtx3090,cuda:0",
		"sim:", "sim:rtx9999", "sim:rtx3090,threads=2", "sim:rtx3090,bus=2", "cpu:0,bus=1GiB", "cpu:0,bus=-1GiB/s", "sim:rtx3090,cpu:0", "sim:/nowhere/card.json", "cpu", "cpu:", "cpu:x", "cpu:-1", "gpu:0", "threads=2", ",", "cpu:0,",
		"cpu:threads=0", "cpu:threads=-1", "cpu:threads=x", "cpu:threads=1000000000", "cpu:mem=0", "cpu:mem=8", "cpu:mem=-8GiB",
		"cpu:mem=1e99GiB", "cpu:mem=NaNGiB", "cpu:slow=0.5", "cpu:slow=NaN", "cpu:slow=Inf", "cpu:link=1GiB", "cpu:link=0B/s",
		"cpu:latency=-1s", "cpu:latency=20", "cpu:latency=1h", "cpu:colour=red", "cpu:0,threads", "auto,cpu:0",
		strings.Repeat("cpu:0,", 64) + "cpu:0",
	} {
		_, err := Parse(list)
		if term.ExitCode(err) != term.ExitUsage {
			t.Errorf("%q: error %v, want a usage error", list, err)
		}
	}
}

func TestAlike(t *testing.T) {
	for list, want := range map[string]bool{
		"cpu:0,cpu:1": true, "cpu:0,mem=1GiB,cpu:1": true, "cpu:threads=1,cpu:threads=2": false, "cpu:0,cpu:1,slow=2": false,
		"cpu:0,cpu:1,link=1GiB/s": false, "cpu:0,cpu:1,bus=1GiB/s": false, "cpu:0": true,
	} {
		specs, err := Parse(list)
		if err != nil {
			t.Fatal(err)
		}
		ShareCores(specs, 4)
		if got := Alike(specs); got != want {
			t.Errorf("%s: alike is %v, want %v", list, got, want)
		}
	}
}

// CPU devices that name the same bus share it, with links of their own or without.
func TestOpenBuses(t *testing.T) {
	const n = 1 << 20
	for list, want := range map[string]time.Duration{ // of a copy up to each device at the same time
		"cpu:threads=1,bus=40MiB/s,cpu:threads=1,bus=40MiB/s":                       50 * time.Millisecond,
		"cpu:threads=1,link=80MiB/s,bus=40MiB/s,cpu:threads=1,bus=40MiB/s,mem=4MiB": 50 * time.Millisecond,
	} {
		specs, err := Parse(list)
		if err != nil {
			t.Fatal(err)
		}
		devices, err := Open(specs)
		if err != nil {
			t.Fatal(err)
		}
		var queues []gpu.Queue
		start, host := time.Now(), make([]byte, n)
		for _, d := range devices {
			buf, err := d.Alloc(n, "block")
			if err != nil {
				t.Fatal(err)
			}
			q := d.NewQueue("up")
			q.Upload(buf, 0, host)
			queues = append(queues, q)
		}
		for _, q := range queues {
			if err := q.Sync(); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took < want {
			t.Errorf("%s: took %v, less than %v", list, took, want)
		}
		if err := CloseAll(devices); err != nil {
			t.Fatal(err)
		}
	}
}

// Devices of one process share its processors in a forecast; those of another machine have as many as threads, where it may have more than this one.
func TestForecastHosts(t *testing.T) {
	specs := make([]Spec, 5)
	for i := range specs {
		specs[i].Threads = Cores()
	}
	one := forecastHosts(specs, nil)
	if one[0].Processors != Cores() || one[0] != one[4] {
		t.Errorf("one process: %+v and %+v", one[0], one[4])
	}
	ranks := forecastHosts(specs, []int{0, 2, 4, 5})
	if ranks[0] != ranks[1] || ranks[1] == ranks[2] || ranks[2] != ranks[3] || ranks[3] == ranks[4] {
		t.Errorf("three processes share hosts: %p", ranks)
	}
	if ranks[0].Processors != 2*Cores() || ranks[4].Processors != Cores() {
		t.Errorf("%d processors for two devices, %d for one", ranks[0].Processors, ranks[4].Processors)
	}
}
