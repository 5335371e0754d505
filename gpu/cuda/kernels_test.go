//go:build cuda

package cuda

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// toolkit is the release whose compiler has made the PTX: another one makes other text.
const toolkit = "release 11.8"

// TestPTX compares the embedded PTX with what nvcc makes of the sources.
func TestPTX(t *testing.T) {
	version, err := exec.Command("nvcc", "--version").Output()
	if err != nil {
		t.Skipf("PTX is not compared with its sources: no nvcc (%v)", err)
	}
	if !bytes.Contains(version, []byte(toolkit)) {
		t.Skipf("PTX is not compared with its sources: nvcc is not of %s", toolkit)
	}
	fresh := t.TempDir()
	if out, err := exec.Command("kernels/generate.sh", fresh).CombinedOutput(); err != nil {
		t.Fatalf("generate.sh: %v\n%s", err, out)
	}
	made, err := filepath.Glob(filepath.Join(fresh, "*.ptx"))
	if err != nil {
		t.Fatal(err)
	}
	if len(made) != len(images()) {
		t.Errorf("%d families of kernels, %d embedded", len(made), len(images()))
	}
	for _, i := range images() {
		text, err := os.ReadFile(filepath.Join(fresh, i.name+".ptx"))
		if err != nil {
			t.Error(err)
		} else if string(text) != i.text {
			t.Errorf("%s.ptx is not what nvcc makes of %s.cu: run go generate -tags cuda ./gpu/cuda", i.name, i.name)
		}
	}
}

// TestRegisters compares the table of registers in the documentation with what ptxas says of the PTX, and demands that no
// kernel keeps in memory what it should hold in registers.
func TestRegisters(t *testing.T) {
	version, err := exec.Command("ptxas", "--version").Output()
	if err != nil || !bytes.Contains(version, []byte(toolkit)) {
		t.Skipf("registers are not looked at: no ptxas of %s", toolkit)
	}
	if testing.Short() {
		t.Skip("compiles every kernel for every architecture: a minute")
	}
	table, err := exec.Command("kernels/registers.sh").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(table), "\n") {
		if strings.Contains(line, "spills") {
			t.Errorf("registers are spilled: %s", line)
		}
	}
	doc, err := os.ReadFile("../../docs/bench/gpu-kernels.md")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(doc, bytes.TrimSpace(table)) {
		t.Error("docs/bench/gpu-kernels.md does not hold the table that kernels/registers.sh prints")
	}
}
