package pipeline

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"capgnn/gpu/host"
	"capgnn/hostmem"
	"capgnn/internal/named"
	"capgnn/jaca"
	"capgnn/pipeline/halo"
)

var updateGATBits = flag.Bool("update-gat-bits", false, "write the weights of this instruction set to "+gatBitsFile)

const gatBitsFile = "testdata/gat_stale_bits.txt"

// GAT with old rows gives the bits that it gave. Bits are of an instruction
// set, so the file has a line for each case and set: generic comes with -tags noasm, avx2 with GODEBUG=cpu.avx512f=off at most.
func TestStaleGATBits(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skipf("bits are known of amd64, not of %s", runtime.GOARCH)
	}
	text, err := os.ReadFile(gatBitsFile)
	if err != nil && !*updateGATBits {
		t.Fatal(err)
	}
	known := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, sha, _ := strings.Cut(strings.TrimSpace(line), ": ")
		known[name] = sha
	}
	device, err := host.Open(host.Spec{Name: "cpu:0", Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	set := device.Info().Variant
	device.Close()
	if !strings.Contains(string(text), set+" ") && !*updateGATBits {
		t.Skipf("no bits are known of %s: -update-gat-bits writes them", set)
	}
	p, m := task{share: 0.2, vertices: 300}.make(t, named.GAT)
	m.AttentionDropout = 0
	for name, cache := range map[string]halo.Options{
		"stale":    {Policy: jaca.JACA, Staleness: 4},
		"pipeline": {Policy: jaca.JACA, Staleness: 4, Pipeline: true},
		"int8":     {Policy: jaca.JACA, Staleness: 2, Pipeline: true, HaloType: halo.Int8},
	} {
		name = fmt.Sprintf("%s %s", set, name)
		cache.Host = hostmem.LockOptions{Heap: true}
		sha := run(t, newTrainer(t, p, m, cpus(t, 3), scatterParts(p.Vertices(), 3), func(o *Options) { o.Epochs, o.Cache = 7, cache })).WeightsSHA
		if sha != known[name] && !*updateGATBits {
			t.Errorf("%s: weights %s, known are %q: if that is intended, go test -run TestStaleGATBits -update-gat-bits", name, sha, known[name])
		}
		known[name] = sha
	}
	if *updateGATBits {
		var out strings.Builder
		for _, name := range slices.Sorted(maps.Keys(known)) {
			fmt.Fprintf(&out, "%s: %s\n", name, known[name])
		}
		if err := os.WriteFile(gatBitsFile, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
