//go:build cuda

package cuda

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/gpu"
	"capgnn/gpu/cuda/fakedriver/fake"
)

// A GPU that is not there is named; what cannot be opened leaves no context behind.
func TestOpenErrors(t *testing.T) {
	configure(t, "n=2;mem=16")
	if _, err := driver.Open(Spec{Ordinal: -1}); !errors.Is(err, gpu.ErrNoDevice) || !strings.Contains(err.Error(), "open cuda:-1: ") {
		t.Errorf("GPU -1: %v", err)
	}
	if !fake.Real() {
		if _, err := driver.Open(Spec{Ordinal: 2}); err == nil || !strings.Contains(err.Error(), "the driver shows GPUs 0 to 1") {
			t.Errorf("GPU 2 of 2: %v", err)
		}
	}
	d := open(t, Spec{})
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Errorf("closing twice: %v", err)
	}
	if msg := panicText(func() { d.NewQueue("late") }); msg != "cuda:0: new queue late on a closed device" {
		t.Errorf("a queue of a closed device: %q", msg)
	}
	configure(t, "n=1;mem=16") // refuses while a device is open
}

// Host memory is registered while a device is open, and can be registered again with the next one.
func TestPinner(t *testing.T) {
	configure(t, "n=2;mem=16")
	mem := make([]byte, 1<<16)
	pin := driver.Pinner()
	if err := pin.Register(mem); err == nil || err.Error() != "page-lock 65536 bytes: no GPU is open" {
		t.Errorf("register without a device: %v", err)
	}
	if err := errors.Join(pin.Register(nil), pin.Unregister(nil), pin.Unregister(mem)); err != nil {
		t.Errorf("nothing to register: %v", err)
	}
	a, share := open(t, Spec{}), open(t, Spec{Name: "share"})
	if err := pin.Register(mem); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what string
		do   func() error
		held bool
	}{
		{"registered", func() error { return nil }, true},
		{"one of two devices of the GPU closed", a.Close, true},
		{"both closed", share.Close, false},
		{"unregistered", func() error { return pin.Unregister(mem) }, false},
		{"registered again", func() error {
			open(t, Spec{})
			return pin.Register(mem)
		}, true},
		{"unregistered again", func() error { return pin.Unregister(mem) }, false},
	} {
		if err := c.do(); err != nil {
			t.Errorf("%s: %v", c.what, err)
		}
		if got := driver.pinned.hold(mem); got != c.held {
			t.Errorf("%s: held %v, want %v", c.what, got, c.held)
		}
	}
}

// Memory counts as registered only if one range holds all of it.
func TestRanges(t *testing.T) {
	var r ranges
	mem := make([]byte, 100_000) // on the heap: a stack moves
	for _, p := range [][2]int{{60, 80}, {10, 30}, {30, 40}} {
		r.add(extentOf(mem[p[0]:p[1]], 7))
	}
	if !slices.IsSortedFunc(r.list, func(a, b extent) int { return compare(a.lo, b.lo) }) {
		t.Errorf("ranges out of order: %v", r.list)
	}
	for _, c := range []struct {
		lo, hi int
		want   bool
	}{
		{10, 30, true}, {10, 11, true}, {29, 30, true}, {15, 20, true}, {60, 80, true}, {79, 80, true},
		{9, 12, false}, {0, 5, false}, {25, 35, false}, {39, 41, false}, {40, 60, false}, {70, 81, false}, {80, 90, false},
	} {
		if got := r.hold(mem[c.lo:c.hi]); got != c.want {
			t.Errorf("bytes %d to %d: %v, want %v", c.lo, c.hi, got, c.want)
		}
	}
	if ctx := r.remove(mem[10:30]); ctx != 7 || r.hold(mem[10:30]) || !r.hold(mem[30:40]) {
		t.Errorf("removed a range of context %d; left %v", ctx, r.list)
	}
	if ctx := r.remove(mem[10:30]); ctx != 0 {
		t.Errorf("removed twice, of context %d", ctx)
	}
}

// Cards says who reaches whom, in that direction, and opens nothing.
func TestCards(t *testing.T) {
	onlyFake(t, "three unequal GPUs of which one reaches another")
	configure(t, "n=3;mem=16,32;cc=80,61;p2p=010/000/000")
	before := fake.Count("contexts")
	cards, err := driver.Cards()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Card{
		{Ordinal: 0, Model: "Fake GPU sm_80", Major: 8, Total: 16 << 20, Peers: []bool{false, true, false}},
		{Ordinal: 1, Model: "Fake GPU sm_61", Major: 6, Minor: 1, Total: 32 << 20, Peers: make([]bool, 3)},
		{Ordinal: 2, Model: "Fake GPU sm_61", Major: 6, Minor: 1, Total: 32 << 20, Peers: make([]bool, 3)},
	} {
		got := cards[i]
		want.SMs, want.UUID = got.SMs, fmt.Sprintf("GPU-66616b65-0000-0000-0000-0000000000%02x", i)
		if fmt.Sprint(got) != fmt.Sprint(want) || got.SMs <= 0 {
			t.Errorf("card %d: %+v, want %+v", i, got, want)
		}
	}
	if made := fake.Count("contexts"); made != before {
		t.Errorf("%d contexts were made", made-before)
	}
}

// NVML's answers are what the card says; what it does not say is 0.
func TestExamine(t *testing.T) {
	onlyFake(t, "the answers of the fake library")
	configure(t, "n=2")
	libs, err := fake.Build()
	if err != nil {
		t.Fatal(err)
	}
	cards, version, err := Examine(Options{NVML: libs.NVML})
	if err != nil || len(cards) != 2 || version != "580.00" {
		t.Fatalf("%d cards, driver %q, %v", len(cards), version, err)
	}
	want := Health{
		UUID: "GPU-66616b65-0000-0000-0000-000000000001", Model: "Fake GPU 1", Total: 1024 << 20, Free: 1000 << 20, Generation: 1,
		Width: cards[1].Width, MaxGeneration: 4, MaxWidth: 16, TemperatureCelsius: 40, PowerWatts: 60,
	}
	if cards[1] != want {
		t.Errorf("card 1: %+v, want %+v", cards[1], want)
	}
	if _, _, err := Examine(Options{NVML: "/nowhere/libnvidia-ml.so"}); err == nil || !strings.HasPrefix(err.Error(), "NVML: ") {
		t.Errorf("a library that is not there: %v", err)
	}
}

// cuBLAS is looked for where it is said to be, and nowhere else if it is named.
func TestBLASPaths(t *testing.T) {
	if paths := blasPaths(Options{BLAS: BLASOff, BLASFolders: []string{"/a"}}); len(paths) != 0 {
		t.Errorf("not wanted, looked for at %q", paths)
	}
	if paths := blasPaths(Options{BLAS: "/opt/libcublas.so", BLASFolders: []string{"/a"}}); !slices.Equal(paths, []string{"/opt/libcublas.so"}) {
		t.Errorf("named, looked for at %q", paths)
	}
	paths := blasPaths(Options{BLASFolders: []string{"/a", "/b"}})
	at := func(path string) int { return slices.Index(paths, path) }
	for _, order := range [][2]string{
		{"libcublas.so.13", "libcublas.so.12"}, {"libcublas.so.11", "/a/libcublas.so.13"}, {"/a/libcublas.so.13", "/a/libcublas.so.12"},
		{"/a/libcublas.so.11", "/b/libcublas.so.13"}, {"/b/libcublas.so.11", "/usr/local/cuda/lib64/libcublas.so.13"},
	} {
		if at(order[0]) < 0 || at(order[1]) < 0 || at(order[0]) > at(order[1]) {
			t.Errorf("%s does not come before %s in %q", order[0], order[1], paths)
		}
	}
	d := &Driver{options: Options{BLAS: "/nowhere/libcublas.so"}}
	if _, _, err := d.BLAS(); err == nil || !strings.Contains(err.Error(), "/nowhere/libcublas.so") {
		t.Errorf("a library that is not there: %v", err)
	}
}

// libcublasLt is taken from beside cuBLAS where the dynamic loader does not look for it.
func TestBLASBeside(t *testing.T) {
	onlyFake(t, "a cuBLAS made for this")
	libs, err := fake.Build()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := tryBLAS(libs.BLAS); err != nil { // what other tests multiply with
			t.Error(err)
		}
	})
	folder := t.TempDir()
	compile := func(out, source string, args ...string) {
		t.Helper()
		cmd := exec.Command("gcc", append([]string{"-shared", "-fPIC", "-o", filepath.Join(folder, out), source, "-Wl,-soname," + out, "-ldl"}, args...)...)
		if text, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
	}
	empty := filepath.Join(folder, "empty.c")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	lt := "libcublasLt.so.99" // of no version that this machine may have
	compile(lt, empty)
	compile("libcublas.so.99", "fakedriver/cublas.c", "-Wl,--no-as-needed", "-L"+folder, "-l:"+lt)
	path := filepath.Join(folder, "libcublas.so.99")
	if err := os.Rename(filepath.Join(folder, lt), filepath.Join(folder, "gone")); err != nil {
		t.Fatal(err)
	}
	if err := tryBLAS(path); err == nil || !strings.Contains(err.Error(), lt+": cannot open") || strings.Contains(err.Error(), "\n") {
		t.Errorf("without libcublasLt: %v", err)
	}
	if err := os.Rename(filepath.Join(folder, "gone"), filepath.Join(folder, lt)); err != nil {
		t.Fatal(err)
	}
	if err := tryBLAS(path); err != nil {
		t.Errorf("with libcublasLt beside it: %v", err)
	}
}

// The driver is looked for where containers mount it too, and nowhere else if it is named; Path says what was loaded.
func TestDriverPaths(t *testing.T) {
	if paths := driverPaths(Options{Library: "/opt/libcuda.so"}); !slices.Equal(paths, []string{"/opt/libcuda.so"}) {
		t.Errorf("named, looked for at %q", paths)
	}
	want := []string{"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/local/nvidia/lib/libcuda.so.1"}
	if paths := driverPaths(Options{}); !slices.Equal(paths, want) {
		t.Errorf("looked for at %q, want %q", paths, want)
	}
	if file, err := os.Stat(driver.Path()); err != nil || !file.Mode().IsRegular() {
		t.Errorf("the driver is said to be at %q: %v", driver.Path(), err)
	}
}

// The variant names what decides the last bits: the architecture, who multiplies, and how exactly.
func TestVariantNames(t *testing.T) {
	onlyFake(t, "the fake cuBLAS")
	configure(t, "mem=16;cc=80")
	multiplied, _ := multiplied(t)
	for _, c := range []struct {
		driver *Driver
		tf32   bool
		want   string
	}{{driver, false, "sm_80"}, {driver, true, "sm_80"}, {multiplied, false, "sm_80 cublas 13.0.0 bf16"}, {multiplied, true, "sm_80 cublas 13.0.0 tf32 bf16"}} {
		d, err := c.driver.Open(Spec{TF32: c.tf32})
		if err != nil {
			t.Fatal(err)
		}
		if got := d.Info().Variant; got != c.want {
			t.Errorf("variant %q, want %q", got, c.want)
		}
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Codes after which the driver refuses every call end the device; others are a refusal of one call.
func TestErrors(t *testing.T) {
	for code, gone := range map[int]bool{1: false, codeOutOfMemory: false, 4: true, codeInvalidDevice: false, 214: true, 500: false, 700: true,
		701: false, 704: false, 719: true, 720: false, 999: true} {
		err := fmt.Errorf("open: %w", newError("cuCall", code))
		if got := errors.Is(err, gpu.ErrDeviceLost); got != gone {
			t.Errorf("code %d is a lost device: %v, want %v", code, got, gone)
		}
		if errors.Is(err, gpu.ErrNoDevice) {
			t.Errorf("code %d is no device", code)
		}
		if !coded(err, code) || coded(err, code+1) || coded(errors.New("other"), code) {
			t.Errorf("code %d is not told from others", code)
		}
	}
	if err := newError("cuCall", 2); !strings.HasPrefix(err.Name, "CUDA_ERROR_") || err.Error() != fmt.Sprintf("cuCall: %s (%s, 2)", err.Text, err.Name) {
		t.Errorf("error 2: %v", err)
	}
	if err := (&Error{Call: "cuCall", Code: 12345}).Error(); err != "cuCall: driver error 12345" {
		t.Errorf("an error without a name: %s", err)
	}
	if named("cuCall", nil) != nil {
		t.Error("no error has a name")
	}
	if err := named("cuCall", errors.New("odd")); err.Error() != "cuCall: odd" {
		t.Errorf("an error that is no code: %v", err)
	}
}
