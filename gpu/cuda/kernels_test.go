//go:build cuda

package cuda

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// assemblers are the releases of ptxas that have a table, kernels/registers-RELEASE.csv, and for which architectures.
var assemblers = map[string][]string{
	"release 11.8": {"60", "61", "70", "75", "80", "86", "89", "90"},
	"release 13.0": {"75", "86", "90", "100", "120"},
}

// pascalSpills is the one line with spills: 8 bytes of a thread, on sm_60 and sm_61 alone. With room for fewer blocks nothing would spill, and newer GPUs
// would take a quarter longer (docs/adr/0061).
const pascalSpills = "gatv2,gatv2_src_64,1056,80 spills,80 spills,80,80,80,80,80,80"

// fewSpills matches lines of kernels with dropout of attention: some spill, at most 96 bytes of a thread (ptxas 13,
// sm_90). With room for fewer blocks
// nothing would; which is faster has not been measured.
var fewSpills = regexp.MustCompile(`^\w+_drop,`)

// TestRegisters compares the table of registers with what ptxas, or what PTXAS names, says of the PTX, and
// demands that no kernel keeps in memory what it should hold in registers.
func TestRegisters(t *testing.T) {
	ptxas := cmp.Or(os.Getenv("PTXAS"), "ptxas")
	version, err := exec.Command(ptxas, "--version").Output()
	if err != nil {
		t.Skipf("registers are not looked at: no ptxas (%v)", err)
	}
	release := regexp.MustCompile(`release [0-9.]+`).FindString(string(version))
	if assemblers[release] == nil {
		t.Skipf("registers are not looked at: there is no table of ptxas of %q", release)
	}
	if testing.Short() {
		t.Skip("compiles every kernel for every architecture: half a minute")
	}
	table, err := exec.Command("kernels/registers.sh", assemblers[release]...).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range strings.Split(string(table), "\n") {
		if strings.Contains(line, "spills") && line != pascalSpills && !fewSpills.MatchString(line) {
			t.Errorf("registers are spilled: %s", line)
		}
	}
	path := "kernels/registers-" + strings.TrimPrefix(release, "release ") + ".csv"
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(want, table) {
		t.Errorf("%s is not what kernels/registers.sh %s prints with ptxas of %s:\n%s",
			path, strings.Join(assemblers[release], " "), release, table)
	}
}
