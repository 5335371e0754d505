//go:build cuda

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// checkRun calls scripts/gpu-check on the fake driver, with few other programs on its PATH.
type checkRun struct {
	*sandbox
	programs string // PATH
	bundle   string
}

// command is a call with quick steps of a part of the tests; the results lie in the folders out and work.
func (c *checkRun) command(more ...string) *exec.Cmd {
	args := append([]string{"../../scripts/gpu-check", "run", "--bundle", c.bundle, "--quick", "--scale", "0.0005", "--work", c.path("work"), "--out",
		c.path("out"), "--tests", "TestUploadRows|TestPeers|TestLarge|TestConformance$/forward/(Fill|Copy|SGD)|TestGoldenCUDA/gcn_directed"}, more...)
	cmd := exec.Command("bash", args...)
	cmd.Env, cmd.WaitDelay = append(os.Environ(), "PATH="+c.programs), time.Minute
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return cmd
}

func (c *checkRun) run(more ...string) (string, error) {
	text, err := c.command(more...).CombinedOutput()
	return string(text), err
}

// cutOff kills a call, and all that it runs, when some of its commands have ended.
func (c *checkRun) cutOff(t *testing.T, commands int, more ...string) {
	t.Helper()
	cmd := c.command(more...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 6000 {
		done, err := filepath.Glob(c.path("work/logs/*.done"))
		if err != nil {
			t.Fatal(err)
		}
		if len(done) >= commands {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the call had ended before it was cut off")
	}
}

// scripts/gpu-check packs what it takes along, and goes through the steps on a machine without Go and a Python with torch; the fake
// driver stands in for a real one, and scripts for the tools that look at kernels.
func TestGPUCheck(t *testing.T) {
	if testing.Short() {
		t.Skip("builds and trains")
	}
	c := &checkRun{sandbox: fakeGPUs(t, "n=1;mem=1024")}
	c.bundle = c.path("check.tar.xz")
	build := exec.Command("bash", "../../scripts/gpu-check", "build", c.bundle)
	build.Env = append(os.Environ(), "XZ_OPT=-T0 -1")
	if text, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, text)
	}
	if info, err := os.Stat(c.bundle); err != nil || info.Size() > 40<<20 {
		t.Fatalf("the bundle: %+v, %v; want at most 40 MiB", info, err)
	}
	c.programs = withoutGo(t)
	tool(t, c.programs, "compute-sanitizer", `while [ "${1#--}" != "$1" ]; do shift 2; done
"$@" || exit
echo "========= ERROR SUMMARY: 0 errors"`)
	tool(t, c.programs, "ncu", `while [ "${1#--}" != "$1" ]; do case $1 in --csv) shift ;; *) shift 2 ;; esac; done
"$@" || exit
echo '"0","1","capgnn","host","capgnn_spmm_f64","1","7","(256, 1, 1)","(1, 1, 1)","0","9.0","Command line profiler metrics","gpu__time_duration.sum","us","1,234.5"'`)
	c.cutOff(t, 4, "1")
	// What the first call has packed is all that a new machine would have.
	if err := os.Rename(c.path("out/gpu-check.tgz"), c.path("before.tgz")); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(c.path("work")); err != nil {
		t.Fatal(err)
	}
	text, err := c.run("1", "--resume", c.path("before.tgz"))
	if err != nil || strings.Count(text, "done before: ") < 2 {
		t.Fatalf("going on: %v\n%s", err, text)
	}
	if text, err := c.run("kernels", "small", "reddit"); err != nil {
		t.Fatalf("run: %v\n%s", err, text)
	}
	c.demand(t, "| environment | pass", "| tests | pass |", "| training | pass |", "| sanitizer | pass |", "| kernels | pass", "| small | pass |", "| reddit | pass",
		"| products | not run |", "Fake GPU 0", "needs the fake driver: three GPUs", "not tested, there is one GPU", "| gcn | cuda:0,cpu:threads=1 |",
		"ERROR SUMMARY: 0 errors", "3 operations, 6 runs", "| SpMM | bf16 | 41of48 |", "| GemmOwn | fp32 | nt_", "| Gemm | tf32 | tn_", "| GATBackwardSrc | fp32 | 4x64 |",
		"| PackRows | bf16 |", "| GatherBatch | fp32 |", "gpu__time_duration.sum 1,234.5", "| gcn | capgnn | 2 | bf16 | auto |")
	if files, err := os.ReadDir(c.path("out")); err != nil || len(files) != 2 {
		t.Errorf("results are %v, %v; want two files", files, err)
	}
	t.Setenv("FAKECUDA", "n=0")
	text, err = c.run("environment", "tests", "--work", c.path("work2"), "--out", c.path("out2"))
	if err == nil || !strings.Contains(text, "| environment | FAIL") || !strings.Contains(text, "| tests | FAIL") {
		t.Errorf("without a GPU the steps end with %v:\n%s", err, text)
	}
}

// demand looks for texts in gpu.md.
func (c *checkRun) demand(t *testing.T, texts ...string) {
	t.Helper()
	report, err := os.ReadFile(c.path("out/gpu.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range texts {
		if !strings.Contains(string(report), want) {
			t.Errorf("gpu.md does not say %q", want)
		}
	}
	if t.Failed() {
		t.Logf("%s", report)
	}
}

// tool writes a script into a folder of PATH.
func tool(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(folder, name), []byte("#!/usr/bin/env bash\n"+text+"\n"), 0o777); err != nil {
		t.Fatal(err)
	}
}

// withoutGo is a PATH of the programs that the script needs, and no others.
func withoutGo(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range strings.Fields("bash env awk basename cat date dirname grep head mkdir mv nproc python3 rm sed sort tail tar tee gzip timeout uname xz") {
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
