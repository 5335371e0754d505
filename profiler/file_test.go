package profiler

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"capgnn/gpu"
)

func sample(t testing.TB) *Profile {
	c := &clock{now: time.Unix(1e9, 0)}
	p, err := Measure(t.Context(), []gpu.Device{newFake("cpu:0", c, 1e12), newFake("cpu:1", c, 1e11)},
		Options{Sizes: []int{64}, Now: c.read, Runs: 3, Driver: "1.2"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFileRoundTrip(t *testing.T) {
	p := sample(t)
	path := filepath.Join(t.TempDir(), "profile.json")
	for range 2 { // the second one replaces the first
		if err := p.Write(path); err != nil {
			t.Fatal(err)
		}
	}
	q, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(p, q) {
		t.Errorf("read %+v, wrote %+v", q, p)
	}
	if left, _ := filepath.Glob(path + ".tmp*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if _, err := Read(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	p.Devices[0].MM.Mean = math.NaN()
	if err := p.Write(path); err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("unsound profile: %v", err)
	}
}

func TestReadRefuses(t *testing.T) {
	good, err := json.Marshal(sample(t))
	if err != nil {
		t.Fatal(err)
	}
	swap := func(from, to string) string {
		s := strings.Replace(string(good), from, to, 1)
		if s == string(good) {
			t.Fatalf("%q is not in the sample", from)
		}
		return s
	}
	for name, tc := range map[string]struct{ text, want string }{
		"empty":          {"", "not JSON"},
		"truncated":      {string(good[:len(good)/2]), "not JSON"},
		"other version":  {swap(`"version":1`, `"version":2`), "version 2"},
		"no version":     {"{}", "version 0"},
		"list":           {"[]", "array"},
		"n zero":         {swap(`"n":64`, `"n":0`), "n 0"},
		"n huge":         {swap(`"n":64`, `"n":9000000000`), "n 9000000000"},
		"string for n":   {swap(`"n":64`, `"n":"64"`), "n is a string"},
		"no devices":     {`{"version":1,"n":64,"entries":16}`, "0 devices"},
		"zero time":      {swap(`"runs":3`, `"runs":0`), "0 runs"},
		"negative std":   {swap(`"std_s":`, `"std_s":-1,"x":`), "deviation -1"},
		"escape in name": {swap(`"cpu:0"`, `"\u001b[2J"`), "unprintable"},
		"long name":      {swap(`"cpu:0"`, `"`+strings.Repeat("a", 300)+`"`), "longer"},
		"pair index":     {swap(`"to":1`, `"to":7`), "of 2"},
	} {
		_, err := decode([]byte(tc.text), "p.json")
		var fault *FormatError
		if !errors.As(err, &fault) || fault.File != "p.json" || !strings.Contains(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one that says %q", name, err, tc.want)
		}
	}
	if _, err := decode(make([]byte, maxFile+1), "p.json"); err == nil || !strings.Contains(err.Error(), "longer") {
		t.Errorf("a file above the limit: %v", err)
	}
}

func TestMatch(t *testing.T) {
	p := sample(t)
	c := &clock{}
	dev := func(change func(*gpu.Info)) gpu.Device {
		d := newFake("cpu:1", c, 1)
		if change != nil {
			change(&d.info)
		}
		return d
	}
	rows, err := p.Match([]gpu.Device{dev(nil), dev(nil), newFake("cpu:0", c, 1)})
	if err != nil || rows[0].Name != "cpu:1" || rows[1].Name != "cpu:1" || rows[2].Name != "cpu:0" {
		t.Errorf("rows %v, error %v", rows, err)
	}
	if _, err := p.Match([]gpu.Device{dev(func(i *gpu.Info) { i.Name = "cpu:9" })}); err != nil {
		t.Errorf("another name for the same UUID: %v", err)
	}
	for name, change := range map[string]func(*gpu.Info){
		"uuid":    func(i *gpu.Info) { i.UUID = "u" },
		"model":   func(i *gpu.Info) { i.Model = "m" },
		"kind":    func(i *gpu.Info) { i.Kind = gpu.CUDA },
		"variant": func(i *gpu.Info) { i.Variant = "v2" },
		"threads": func(i *gpu.Info) { i.Threads = 2 },
	} {
		if _, err := p.Match([]gpu.Device{dev(change)}); err == nil || !strings.Contains(err.Error(), "cpu:1") {
			t.Errorf("other %s: error %v, want one that names the device", name, err)
		}
	}
}

func FuzzRead(f *testing.F) {
	b, err := json.Marshal(sample(f))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"version":1,"n":1,"entries":1,"devices":[{}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := decode(b, "fuzz")
		if err != nil {
			return
		}
		if p.Table() == "" {
			t.Fatal("an accepted profile has no table")
		}
		path := filepath.Join(t.TempDir(), "p")
		if err := p.Write(path); err != nil {
			t.Fatal(err)
		}
		q, err := Read(path)
		if err != nil || p.Table() != q.Table() {
			t.Fatalf("does not survive writing: %v", err)
		}
	})
}
