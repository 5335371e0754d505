package devices

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// powercapTree writes files below a folder; a name that ends in / is a folder, which nobody reads as a file.
func powercapTree(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if strings.HasSuffix(name, "/") {
			path = filepath.Join(path, "x")
		}
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// Packages are read, and nothing that counts what they do once more: domains below them, the whole system, and packages by another way.
// Counters that begin anew go on. What cannot be read is noted once, and null.
func TestMetersOfProcessors(t *testing.T) {
	dir := t.TempDir()
	domain := func(folder, name, energy string) map[string]string {
		return map[string]string{folder + "/name": name, folder + "/energy_uj": energy, folder + "/max_energy_range_uj": "10000000"}
	}
	for _, d := range []map[string]string{domain("intel-rapl:0", "package-0", "9000000"), domain("intel-rapl:0:0", "core", "5000000"), domain("intel-rapl:1", "psys", "1"),
		domain("intel-rapl-mmio:0", "package-0", "77"), {"intel-rapl:2/name": "package-1", "intel-rapl:2/max_energy_range_uj": "10000000", "intel-rapl:2/energy_uj/": ""},
		{"intel-rapl:3/name": "package-2", "intel-rapl:3/energy_uj": "1"}} {
		powercapTree(t, dir, d)
	}
	var notes []string
	m := OpenMeters([]Spec{{Label: "0", Threads: 1}}, dir, func(format string, a ...any) { notes = append(notes, fmt.Sprintf(format, a...)) })
	defer m.Close()
	if len(notes) != 2 || !strings.Contains(notes[0], "the energy of package-1 is not known: ") || !strings.Contains(notes[0], "energy_uj") || !strings.Contains(notes[1], "max_energy_range_uj") {
		t.Fatalf("notes: %q", notes)
	}
	m.Read(true)
	for i, c := range []struct {
		energy string
		want   float64
	}{{"9500000", 0.5}, {"200000", 0.7}, {"200000", 0}, {"9999999", 9.799999}, {"9999998", 9.999999}, {"nonsense", -1}, {"9999999", -1}} {
		powercapTree(t, dir, map[string]string{"intel-rapl:0/energy_uj": c.energy})
		all := m.Read(true)
		if len(all) != 3 || all[0].Device != "package-0" || all[1].Joules != nil || all[2].Joules != nil || all[1].Device != "package-1" {
			t.Fatalf("reading %d: %+v", i, all)
		}
		if j := all[0].Joules; (j == nil) != (c.want < 0) || j != nil && (*j < c.want-1e-9 || *j > c.want+1e-9) {
			t.Errorf("reading %d of %s: %v, want %v J", i, c.energy, j, c.want)
		}
	}
	if len(notes) != 3 || !strings.Contains(notes[2], "package-0 is not known any more: ") || strings.Contains(notes[2], "\n") {
		t.Errorf("notes: %q", notes)
	}
	none := OpenMeters(nil, filepath.Join(dir, "nowhere"), t.Errorf)
	defer none.Close()
	if all := none.Read(true); all != nil || (*Meters)(nil).Read(true) != nil {
		t.Errorf("a machine without meters has %+v", all)
	}
}

// What a counter has done since it was looked at in between counts, although it has begun anew twice since the last reading.
func TestMetersBetweenReadings(t *testing.T) {
	dir := t.TempDir()
	powercapTree(t, dir, map[string]string{"energy_uj": "8000000", "max_energy_range_uj": "9000000"})
	joules, err := rapl(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, energy := range []string{"1000000", "500000", "600000"} {
		powercapTree(t, dir, map[string]string{"energy_uj": energy})
		if _, err := joules(); err != nil {
			t.Fatal(err)
		}
	}
	if j, err := joules(); j != 10.6 || err != nil {
		t.Errorf("%v J, %v, want 2 + 8.5 + 0.1", j, err)
	}
}

// Meters are read where that takes a thousandth of the time since they were read before, or has to be; those that were left out count in the next reading.
func TestMetersAreReadSeldom(t *testing.T) {
	m := &Meters{}
	asked, taken := 0, 0.0
	x := meter{joules: func() (float64, error) { asked++; taken += 2; return taken, nil }}
	m.add(x, "cuda:0", nil)
	m.Read(true)
	m.cost = time.Hour
	if all := m.Read(false); all != nil || asked != 1 {
		t.Errorf("read %d times: %+v", asked, all)
	}
	if all := m.Read(true); len(all) != 1 || asked != 2 || *all[0].Joules != 2 || m.cost >= time.Hour {
		t.Errorf("read %d times: %+v", asked, all)
	}
	m.cost = 0
	if all := m.Read(false); len(all) != 1 {
		t.Errorf("not read although that takes no time: %+v", all)
	}
}

// Of ranks that see one GPU the first has its meter.
func TestMetersAreShared(t *testing.T) {
	m := &Meters{}
	for _, id := range []string{"GPU-a", "GPU-b", ""} {
		m.add(meter{id: id}, "cuda:0", nil)
	}
	if ids := m.IDs(); strings.Join(ids, " ") != "GPU-a GPU-b " {
		t.Errorf("IDs %q", ids)
	}
	m.Share(3, [][]string{{"GPU-c", ""}, {"GPU-b", "GPU-d"}})
	all := m.Read(true)
	if len(all) != 2 || all[0].Rank != 3 || m.IDs()[0] != "GPU-a" || m.IDs()[1] != "" {
		t.Errorf("%+v of %q", all, m.IDs())
	}
}

// BenchmarkMeters is what a reading of two packages takes.
func BenchmarkMeters(b *testing.B) {
	dir := b.TempDir()
	for _, folder := range []string{"intel-rapl:0", "intel-rapl:1"} {
		powercapTree(b, dir, map[string]string{folder + "/name": "package-0", folder + "/energy_uj": "123456789", folder + "/max_energy_range_uj": "262143328850"})
	}
	m := OpenMeters(nil, dir, b.Fatalf)
	defer m.Close()
	for b.Loop() {
		m.Read(true)
	}
}
