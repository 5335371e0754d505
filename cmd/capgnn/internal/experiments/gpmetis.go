package experiments

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"capgnn/graph"
	"capgnn/internal/regular"
)

// gpmetis is METIS' program, which cuts graphs where it is installed (Debian: metis).
const gpmetis = "gpmetis"

// hasMETIS reports whether gpmetis is there.
func hasMETIS() bool {
	_, err := exec.LookPath(gpmetis)
	return err == nil
}

// metisSeconds finds the time of partitioning, without reading and writing, in what gpmetis prints.
var metisSeconds = regexp.MustCompile(`Partitioning:\s+([0-9.]+) sec`)

// runMETIS has gpmetis cut an undirected graph without loops into so many parts of about equal size. seconds are those that gpmetis says of itself: processor time of
// one thread.
func runMETIS(ctx context.Context, u *graph.CSR, parts int, seed uint64) (part []int32, seconds float64, err error) {
	dir, err := os.MkdirTemp("", "capgnn-metis-")
	if err != nil {
		return nil, 0, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "graph")
	if err := writeMETIS(file, u); err != nil {
		return nil, 0, err
	}
	out, err := exec.CommandContext(ctx, gpmetis, fmt.Sprintf("-seed=%d", seed), file, strconv.Itoa(parts)).CombinedOutput()
	if err != nil {
		return nil, 0, fmt.Errorf("run %s: %w: %.200s", gpmetis, errors.Join(err, ctx.Err()), out)
	}
	found := metisSeconds.FindSubmatch(out)
	if found == nil {
		return nil, 0, fmt.Errorf("%s says no time: %.200s", gpmetis, out)
	}
	if seconds, err = strconv.ParseFloat(string(found[1]), 64); err != nil {
		return nil, 0, err
	}
	part, err = readMETIS(fmt.Sprintf("%s.part.%d", file, parts), u.Rows(), parts)
	return part, seconds, err
}

// writeMETIS writes u in METIS' text format: the numbers of vertices and of edges, then each vertex's neighbours, from 1.
func writeMETIS(file string, u *graph.CSR) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	fmt.Fprintln(w, u.Rows(), u.Edges()/2)
	var line []byte
	for v := range u.Rows() {
		line = line[:0]
		for _, x := range u.Row(v) {
			line = append(strconv.AppendInt(line, int64(x)+1, 10), ' ')
		}
		w.Write(append(line, '\n'))
	}
	return errors.Join(w.Flush(), f.Close())
}

// readMETIS reads the part of every vertex, one to a line.
func readMETIS(file string, vertices, parts int) ([]int32, error) {
	f, err := regular.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	part := make([]int32, 0, vertices)
	for in := bufio.NewScanner(f); in.Scan(); {
		k, err := strconv.ParseInt(in.Text(), 10, 32)
		if err != nil || k < 0 || k >= int64(parts) {
			return nil, fmt.Errorf("%s: line %d is no part: %.40q", file, len(part)+1, in.Text())
		}
		part = append(part, int32(k))
	}
	if len(part) != vertices {
		return nil, fmt.Errorf("%s: parts of %d vertices, the graph has %d", file, len(part), vertices)
	}
	return part, nil
}

// edgeCut counts the edges of an undirected graph between parts, each once.
func edgeCut(u *graph.CSR, part []int32) (cut int64) {
	for v := range u.Rows() {
		for _, x := range u.Row(v) {
			if int(x) > v && part[v] != part[x] {
				cut++
			}
		}
	}
	return cut
}
