// Command gen writes the assembly of package kernel: one pair of files per family of kernels, zz_NAME_amd64.s and its Go
// declarations zz_NAME_amd64.go.
//
//	go run . FOLDER        (in gpu/host/kernel/gen; go generate in gpu/host/kernel passes gpu/host/kernel)
//
// It is a module of its own so that the generator's dependencies are not those of the program.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/buildtags"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/pass"
	"github.com/mmcloughlin/avo/printer"
)

// families are the files: name and what writes their functions.
var families = []struct {
	name  string
	write func(*writer)
}{
	{"gemm", gemmKernels},
	{"spmm", spmmKernels},
	{"spmm16", spmm16Kernels},
	{"philox", philoxKernels},
	{"norm", normKernels},
	{"gat", gatKernels},
	{"gatv2", gatv2Kernels},
	{"plain", plainKernels},
	{"activation", activationKernels},
	{"elementwise", elementwiseKernels},
	{"bf16", bf16Kernels},
	{"int8", int8Kernels},
	{"loss", lossKernels},
	{"transpose", transposeKernels},
	{"limits", limitKernels},
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

func run(folder string) error {
	for _, f := range families {
		w := &writer{Context: build.NewContext()}
		w.Constraint(buildtags.Not("noasm"))
		f.write(w)
		file, err := w.Result()
		if err != nil {
			return fmt.Errorf("write %s: %w", f.name, err)
		}
		if err := pass.Compile.Execute(file); err != nil {
			return fmt.Errorf("compile %s: %w", f.name, err)
		}
		for _, fn := range file.Functions() {
			if err := checkISA(fn); err != nil {
				return err
			}
		}
		cfg := printer.Config{Name: "gpu/host/kernel/gen", Pkg: "kernel"}
		for ext, p := range map[string]printer.Printer{"s": printer.NewGoAsm(cfg), "go": printer.NewStubs(cfg)} {
			text, err := p.Print(file)
			if err != nil {
				return fmt.Errorf("print %s: %w", f.name, err)
			}
			path := filepath.Join(folder, "zz_"+f.name+"_amd64."+ext)
			if err := os.WriteFile(path, text, 0o666); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkISA refuses AVX-512 instructions, which registers 16 to 31 need, in a function for AVX2.
func checkISA(fn *ir.Function) error {
	if !strings.Contains(fn.Name, "256") {
		return nil
	}
	for _, isa := range fn.ISA {
		if strings.HasPrefix(isa, "AVX512") || isa == "BMI2" {
			return fmt.Errorf("%s needs %s: too many registers?", fn.Name, isa)
		}
	}
	return nil
}
