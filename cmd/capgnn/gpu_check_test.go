//go:build cuda

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// scripts/gpu-check builds what it takes along, and goes through every step of a machine without Go and a Python with torch; the fake
// driver stands in for a real one.
func TestGPUCheck(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and trains")
	}
	s := fakeGPUs(t, "n=1;mem=1024")
	bundle, out := s.path("bundle"), s.path("out")
	call := func(path string, env []string, name string, args ...string) (string, error) {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.Env, cmd.WaitDelay = s.dir, append(os.Environ(), env...), time.Minute
		cmd.Env = append(cmd.Env, "PATH="+path)
		text, err := cmd.CombinedOutput()
		return string(text), err
	}
	script, err := filepath.Abs("../../scripts/gpu-check")
	if err != nil {
		t.Fatal(err)
	}
	if text, err := call(os.Getenv("PATH"), nil, script, "build", "--bundle", bundle); err != nil {
		t.Fatalf("build: %v\n%s", err, text)
	}
	size := int64(0)
	for _, name := range []string{"capgnn.gz", "cuda.test.gz", "pipeline.test.gz"} {
		info, err := os.Stat(filepath.Join(bundle, name))
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	if size > 60<<20 {
		t.Errorf("the programs take %d bytes, more than 60 MiB", size)
	}
	bare := withoutGo(t)
	steps := func(args ...string) (string, error) {
		args = append([]string{"run", "--quick", "--scale", "0.0005", "--work", s.path("work"), "--out", out,
			"--tests", "TestUploadRows|TestPeers|TestConformance$/forward/(Fill|Copy)|TestGoldenCUDA/gcn_directed"}, args...)
		return call(bare, nil, filepath.Join(bundle, "gpu-check"), args...)
	}
	for _, some := range [][]string{{"environment", "tests", "sanitizer"}, {"kernels", "reddit"}} {
		if text, err := steps(some...); err != nil {
			t.Fatalf("run %v: %v\n%s", some, err, text)
		}
	}
	report, err := os.ReadFile(filepath.Join(out, "gpu.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"| environment | pass", "| tests | pass |", "| kernels | pass", "| reddit | pass", "| products | not run |", "Fake GPU 0",
		"needs the fake driver: three GPUs", "| gcn | cuda:0,cpu:threads=1 |", "| SpMM | bf16 | 41of48 |", "| gcn | capgnn | 2 | bf16 | auto |"} {
		if !strings.Contains(string(report), want) {
			t.Errorf("gpu.md does not say %q", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", report)
	}
	t.Setenv("FAKECUDA", "n=0")
	if text, err := steps("environment", "tests"); err == nil || !strings.Contains(text, "| environment | FAIL (1) |") || !strings.Contains(text, "| tests | FAIL") ||
		!strings.Contains(text, "| reddit | pass") {
		t.Errorf("without a GPU the steps end with %v:\n%s", err, text)
	}
}

// withoutGo is a PATH of the programs that the script needs, and no others.
func withoutGo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range strings.Fields("bash env awk cat date dirname grep head mkdir nproc python3 rm sed sort tail tar tee gzip timeout uname") {
		path, err := exec.LookPath(name)
		if name == "python3" && err == nil { // it may be a script that looks for one
			var real []byte
			real, err = exec.Command(path, "-c", "import sys; print(sys.executable)").Output()
			path = strings.TrimSpace(string(real))
		}
		if err != nil {
			t.Skipf("scripts/gpu-check needs %s: %v", name, err)
		}
		if err := os.Symlink(path, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}
