//go:build cuda

package main

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/devices"
	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gpu"
	"capgnn/profiler"
)

// fakeGPUs lets the program of the sandbox see fake GPUs, of which config says what they are.
func fakeGPUs(t *testing.T, config string) *sandbox {
	t.Helper()
	progtest.FakeGPUs(t, config)
	return newSandbox(t)
}

func TestDoctorWithGPUs(t *testing.T) {
	s := fakeGPUs(t, "n=3;mem=64;p2p=010/100/000;cc=80,50,70")
	var d diagnosis
	if err := json.Unmarshal([]byte(s.must("doctor", "--json")), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.GPUs) != 3 || d.GPUs[0].Device != "cuda:0" || d.GPUs[0].Capability != "8.0" || strings.Join(d.GPUs[1].Reaches, " ") != "cuda:0" {
		t.Errorf("GPUs: %+v", d.GPUs)
	}
	if !d.GPUs[0].HalfProducts || d.GPUs[1].HalfProducts || d.GPUs[2].HalfProducts {
		t.Errorf("products of bf16: %+v, want them on cuda:0 alone", d.GPUs)
	}
	if d.Library != os.Getenv(devices.DriverVariable) || !strings.Contains(s.must("doctor"), d.Library) {
		t.Errorf("the driver is said to come from %q", d.Library)
	}
	if d.BLAS == nil || d.BLAS.Version != "13.0.0" || d.Supports != "13.0" || d.Driver != "580.00" {
		t.Errorf("libraries: %+v, CUDA %q, driver %q", d.BLAS, d.Supports, d.Driver)
	}
	all := ""
	for _, p := range d.Problems {
		all += p.What + "\n"
	}
	for _, want := range []string{"cuda:1 has compute capability 5.0", "cuda:1 has 4 of 16 PCIe lanes", "no direct copies between cuda:0 and cuda:2, cuda:1 and cuda:2"} {
		if !strings.Contains(all, want) {
			t.Errorf("doctor does not say %q:\n%s", want, all)
		}
	}
}

func TestDoctorWithoutDriver(t *testing.T) {
	s := fakeGPUs(t, "n=0")
	text := s.must("doctor")
	if !strings.Contains(text, "no CUDA-capable device") && !strings.Contains(text, "cuInit answers 100") {
		t.Errorf("doctor does not say that there is no GPU:\n%s", text)
	}
	s.fails(term.ExitUsage, []string{"cuda:0", "no such device"}, "profile", "--devices", "cuda:0")
	t.Setenv(devices.DriverVariable, "/nowhere/libcuda.so.1")
	newSandbox(t).fails(term.ExitUsage, []string{"/nowhere/libcuda.so.1", "doctor"}, "profile", "--devices", "cuda:0")
}

// Training on GPUs: alone, as two, one of them twice, and beside a CPU device; repeated, resumed, and on a CPU device.
func TestTrainOnGPUs(t *testing.T) {
	s := fakeGPUs(t, "n=2;mem=64;p2p=01/10")
	newStore().write(s, "ok.npz")
	train := func(devices string, more ...string) *runfolder.Result {
		return s.train(append([]string{"--dataset", "ok.npz", "--epochs", "3", "--hidden", "16", "--devices", devices}, more...)...)
	}
	cpu := train("cpu:0")
	const mixed = "cuda:0,cpu:threads=1"
	s.must("profile", "--quick", "--quiet", "--devices", mixed, "--out", s.path("profile.json"))
	for _, devices := range []string{"cuda:0", "cuda:0,cuda:1", "cuda:1,cuda:1,mem=8MiB", mixed} {
		more := []string{"--run-dir", s.path("run-" + devices)}
		if devices == mixed {
			more = append(more, "--profile", s.path("profile.json")) // measuring operations takes minutes on a fake GPU
		}
		r := train(devices, more...)
		if strings.Join(r.Devices, ",") != devices {
			t.Errorf("%s: trained on %v", devices, r.Devices)
		}
		if d := math.Abs(float64(r.FinalLoss - cpu.FinalLoss)); !(d <= 1e-4) {
			t.Errorf("%s: loss %g, on a CPU device %g", devices, r.FinalLoss, cpu.FinalLoss)
		}
		again := s.train("--config", s.path("run-"+devices+"/config.yaml"), "--run-dir", s.path("again-"+devices))
		if again.SHA256 != r.SHA256 {
			t.Errorf("%s: repeated with other weights", devices)
		}
	}
	if auto := train("auto"); strings.Join(auto.Devices, ",") != "cuda:0,cuda:1" {
		t.Errorf("auto trains on %v", auto.Devices)
	}
	s.fails(term.ExitUsage, []string{"cuda:2", "GPUs 0 to 1"}, "train", "--quiet", "--dataset", "ok.npz", "--devices", "cuda:2")
	s.fails(term.ExitDoesNotFit, []string{"cuda:0"}, "train", "--quiet", "--dataset", "ok.npz", "--devices", "cuda:0,mem=4KiB")
}

// A run says who multiplies on its GPUs, and whether --tf32 changes anything.
func TestProductsOnGPUAreNamed(t *testing.T) {
	s := fakeGPUs(t, "mem=64;cc=80")
	newStore().write(s, "ok.npz")
	for _, c := range []struct {
		blas string
		flag string
		want string
	}{
		{"", "--storage=bf16", "dense products on GPUs: cuBLAS 13.0.0, in bf16 where rows are stored so\n"},
		{"", "--tf32=false", "dense products on GPUs: cuBLAS 13.0.0\n"},
		{"", "--tf32", "dense products on GPUs: cuBLAS 13.0.0, operands rounded to TF32 where the GPU can\n"},
		{"none", "--storage=bf16", "dense products on GPUs: capgnn's own kernels\n"},
		{"none", "--tf32=false", "dense products on GPUs: capgnn's own kernels\n"},
		{"none", "--tf32", "note: --tf32 has no effect: dense products use capgnn's own kernels, which round nothing\n"},
	} {
		if c.blas != "" {
			t.Setenv(devices.BLASVariable, c.blas)
		}
		_, stderr, code := s.run("plan", "--dataset", "ok.npz", "--hidden", "16", "--devices", "cuda:0", c.flag)
		if code != 0 || !strings.Contains(stderr, c.want) {
			t.Errorf("%s with cuBLAS %q: exit code %d, want %q in %q", c.flag, c.blas, code, c.want, stderr)
		}
	}
}

// A GPU that is lost during a run ends it with the code for that.
func TestLostGPU(t *testing.T) {
	s := fakeGPUs(t, "n=2;mem=64;lost=1:400")
	newStore().write(s, "ok.npz")
	s.fails(term.ExitLost, []string{"cuda:1", "fell off the bus"}, "train", "--quiet", "--dataset", "ok.npz", "--epochs", "50", "--hidden", "16", "--devices", "cuda:0,cuda:1")
}

// The profile of a GPU says what the driver and the management library know.
func TestProfileOfGPU(t *testing.T) {
	s := fakeGPUs(t, "n=1;mem=256")
	var p profiler.Profile
	if err := json.Unmarshal([]byte(s.must("profile", "--quick", "--json", "--quiet", "--devices", "cuda:0")), &p); err != nil {
		t.Fatal(err)
	}
	d := &p.Devices[0]
	if d.Kind != gpu.CUDA || !d.Pinned || d.Link.Width != 16 || d.Link.MaxGeneration != 4 || p.Driver != "580.00" || !strings.Contains(d.Variant, "sm_70 cublas 13.0.0") {
		t.Errorf("profile: %+v, driver %q", *d, p.Driver)
	}
}

// A run on GPUs says what each took, once where two devices are one card; of one without a meter null, and a note.
func TestEnergyOfGPUs(t *testing.T) {
	s := fakeGPUs(t, "n=2;mem=64;p2p=01/10")
	newStore().write(s, "ok.npz")
	_, says, code := s.run("train", "--dataset", "ok.npz", "--epochs", "3", "--hidden", "16", "--devices", "cuda:0,mem=8MiB,cuda:0,mem=8MiB,cuda:1", "--run-dir", "run")
	if code != 0 || strings.Count(says, "the energy of cuda:1 is not known: NVML: ") != 1 {
		t.Fatalf("exit code %d: %s", code, says)
	}
	r, err := runfolder.Dir(s.path("run")).ReadResult()
	if err != nil || len(r.Meters) < 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	a, b := r.Meters[0], r.Meters[1]
	if a.Device != "cuda:0" || a.Joules == nil || math.Mod(*a.Joules, 2.5) != 0 || *a.Joules < 2.5 || *a.Joules > 7.5 || a.Busy == nil || math.Abs(*a.Busy-0.75) > 1e-12 || math.Abs(*a.MemoryBusy-0.25) > 1e-12 {
		text, _ := json.Marshal(a)
		t.Errorf("cuda:0: %s", text)
	}
	if b.Device != "cuda:1" || b.Joules != nil || b.Busy != nil || len(r.Meters) > 2 && strings.HasPrefix(r.Meters[2].Device, "cuda:") {
		t.Errorf("%+v", r.Meters[1:])
	}
	if page, err := os.ReadFile(s.path("run/report.html")); err != nil || !strings.Contains(string(page), "<td>cuda:1</td><td>not known</td>") {
		t.Errorf("the page does not say what cuda:1 took: %v", err)
	}
}
