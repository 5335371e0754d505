//go:build cuda

package fake

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestUnreached holds what no test of gpu/cuda has reached to the list ../../kernels/unreached.txt, which has a reason for each.
// CAPGNN_REACHED is the folder that FAKECUDA_PROFILE was for `go test -short` of gpu/cuda and its packages.
func TestUnreached(t *testing.T) {
	folder := os.Getenv("CAPGNN_REACHED")
	if folder == "" {
		t.Skip("CAPGNN_REACHED names no folder of profiles")
	}
	got, listed := unreached(t, folder), listedUnreached(t)
	var names []string
	for kernel := range got {
		names = append(names, kernel)
	}
	slices.Sort(names)
	all := 0
	for _, kernel := range names {
		n := len(got[kernel])
		all += n
		switch {
		case n > listed[kernel]:
			t.Errorf("%s: %d instructions of PTX are not reached, the list has %d: %s", kernel, n, listed[kernel], strings.Join(first(got[kernel], 5), "; "))
		case n < listed[kernel]:
			t.Logf("%s: %d instructions of PTX are not reached, fewer than the list's %d", kernel, n, listed[kernel])
		}
	}
	for kernel := range listed {
		if got[kernel] == nil {
			t.Errorf("the list has %s, which no process has loaded", kernel)
		}
	}
	t.Logf("%d instructions are not reached", all)
}

// unreached merges the profiles of a folder: the lines of each kernel that no process has run.
func unreached(t *testing.T, folder string) map[string]map[int]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("profiles in %s: %v, %v", folder, files, err)
	}
	all := map[string]map[int]string{}
	for _, file := range files {
		for kernel, lines := range profileOf(t, file) {
			if all[kernel] == nil {
				all[kernel] = lines
				continue
			}
			for n := range all[kernel] {
				if _, missed := lines[n]; !missed {
					delete(all[kernel], n)
				}
			}
		}
	}
	return all
}

// profileOf reads the lines of each kernel that a process has not run.
func profileOf(t *testing.T, file string) map[string]map[int]string {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	kernels := map[string]map[int]string{}
	for in := bufio.NewScanner(f); in.Scan(); {
		words := strings.SplitN(in.Text(), " ", 4)
		if words[0] == "kernel" {
			kernels[words[1]] = map[int]string{}
		} else if n, err := strconv.Atoi(words[2]); err == nil {
			kernels[words[1]][n] = words[3]
		}
	}
	return kernels
}

// first are the first lines of a kernel, with their numbers.
func first(lines map[int]string, n int) []string {
	var numbers []int
	for k := range lines {
		numbers = append(numbers, k)
	}
	slices.Sort(numbers)
	var text []string
	for _, k := range numbers[:min(n, len(numbers))] {
		text = append(text, fmt.Sprintf("line %d %s", k, lines[k]))
	}
	return text
}

// listedUnreached are the instructions of each kernel that the list has a reason for.
func listedUnreached(t *testing.T) map[string]int {
	t.Helper()
	text, err := os.ReadFile("../../kernels/unreached.txt")
	if err != nil {
		t.Fatal(err)
	}
	listed, reasons := map[string]int{}, map[string]bool{}
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == "#":
			if len(words) > 1 {
				reasons[strings.TrimSuffix(words[1], ":")] = true
			}
		case len(words) == 3 && reasons[words[2]]:
			n, err := strconv.Atoi(words[1])
			if err != nil || n <= 0 {
				t.Errorf("unreached.txt: %q is no number of instructions", words[1])
			}
			listed[words[0]] += n
		default:
			t.Errorf("unreached.txt: %q is no KERNEL COUNT REASON, with a reason that the head explains", strings.TrimSpace(line))
		}
	}
	return listed
}
