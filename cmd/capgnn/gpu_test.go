//go:build cuda

package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"capgnn/gpu/cuda/fakedriver/fake"
)

// fakeGPUs lets the program of the sandbox see fake GPUs, of which config says what they are.
func fakeGPUs(t *testing.T, config string) *sandbox {
	t.Helper()
	libs, err := fake.Build()
	if errors.Is(err, fake.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(driverVariable, libs.Driver)
	t.Setenv(nvmlVariable, libs.NVML)
	t.Setenv(blasVariable, libs.BLAS)
	t.Setenv("FAKECUDA", config)
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
	s.fails(exitUsage, []string{"cuda:0", "no such device"}, "profile", "--devices", "cuda:0")
	t.Setenv(driverVariable, "/nowhere/libcuda.so.1")
	newSandbox(t).fails(exitUsage, []string{"/nowhere/libcuda.so.1", "doctor"}, "profile", "--devices", "cuda:0")
}
