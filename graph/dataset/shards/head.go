package shards

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"capgnn/graph"
	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/check"
	"capgnn/internal/regular"
)

const (
	version   = 1
	commonDir = "common"
	graphDir  = "graph"
	headFile  = "shards.json" // of common
	// Mark is the file that a shard has beside those of a store.
	Mark     = "shard.json"
	planFile = "plan.bin"
	outDir   = "out"
	maxHead  = 16 << 20 // bytes of a file of JSON
	maxNames = 1 << 30  // bytes of one with names
	maxParts = 1 << 12
)

// Head is what is said of the data set and of the cut.
type Head struct {
	Version        int               `json:"capgnn_shards"` // 1
	Name           string            `json:"name"`
	Vertices       int               `json:"vertices"`
	Edges          int64             `json:"edges"`
	Features       int               `json:"features"` // columns
	FeatureEntries int64             `json:"feature_entries"`
	Sparse         bool              `json:"sparse"`
	Classes        int               `json:"classes"`
	MultiLabel     bool              `json:"multi_label"`
	Symmetric      bool              `json:"symmetric"`
	Weighted       bool              `json:"weighted"` // edges have weights
	Masks          []string          `json:"masks"`    // keys of those that there are
	Plan           string            `json:"plan"`     // its key
	Graph          string            `json:"graph"`    // SHA-256 of the whole graph, as plans have it
	FeaturesSum    string            `json:"x"`        // of the features
	Identity       map[string]string `json:"data"`     // SHA-256 of the whole data set, by what becomes of self-loops
	Settled        map[string]string `json:"settled"`  // options of reading by which it was read, by name
	Scaling        *dataset.Scaling  `json:"scaling,omitempty"`
	Machines       []Machine         `json:"machines"`
	Files          map[string]file   `json:"files"`       // of common
	Whole          map[string]file   `json:"graph_files"` // of the whole graph
}

// Machine is what one machine has.
type Machine struct {
	First    int             `json:"first"` // part
	Parts    int             `json:"parts"`
	Vertices int             `json:"vertices"` // of its parts
	Others   int             `json:"others"`   // that their rows list besides
	Files    map[string]file `json:"files"`    // by path in its folder, with slashes
}

// file is what a file must be.
type file struct {
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// mark is what a shard says of itself.
type mark struct {
	Version  int    `json:"capgnn_shards"`
	Plan     string `json:"plan"`
	Graph    string `json:"graph"`
	Machine  int    `json:"machine"`
	Machines int    `json:"machines"`
}

// Parts returns the number of parts.
func (h *Head) Parts() int {
	n := 0
	for _, m := range h.Machines {
		n += m.Parts
	}
	return n
}

// Range returns the parts of a machine.
func (m *Machine) Range() graph.Range { return graph.Range{Lo: m.First, Hi: m.First + m.Parts} }

// Is reports whether a folder is one of shards.
func Is(dir string) bool {
	info, err := os.Stat(filepath.Join(dir, commonDir, headFile))
	return err == nil && info.Mode().IsRegular()
}

// machineDir is the folder of a machine's shard.
func machineDir(machine int) string { return fmt.Sprintf("rank-%d", machine) }

// readJSON reads a file of at most so many bytes into to.
func readJSON(path string, most int64, to any) error {
	text, err := regular.ReadFile(path, most)
	if err == nil {
		err = json.Unmarshal(text, to)
	}
	if pathError := (*os.PathError)(nil); err != nil && !errors.As(err, &pathError) {
		err = &dataset.FormatError{File: path, Offset: -1, Err: err}
	}
	return err
}

// parseHead reads the head of a folder and checks what can be checked without other files.
func parseHead(path string) (*Head, error) {
	h := new(Head)
	if err := readJSON(path, maxHead, h); err != nil {
		return nil, err
	}
	if err := h.validate(); err != nil {
		return nil, &dataset.FormatError{File: path, Offset: -1, Err: err}
	}
	return h, nil
}

func (h *Head) validate() error {
	switch {
	case h.Version != version:
		return fmt.Errorf("version %d of shards; this program reads version %d: cut them again", h.Version, version)
	case h.Vertices < 1 || h.Vertices >= math.MaxInt32 || h.Edges < 0 || h.Features < 1 || h.Features > check.MaxCols || h.FeatureEntries < 0:
		return fmt.Errorf("%d vertices, %d edges, %d features, %d entries of features cannot be", h.Vertices, h.Edges, h.Features, h.FeatureEntries)
	case h.Classes < 1 || int64(h.Classes) > check.MaxClasses(h.Vertices):
		return fmt.Errorf("%d classes of %d vertices cannot be", h.Classes, h.Vertices)
	case len(h.Machines) < 1 || len(h.Machines) > maxParts:
		return fmt.Errorf("%d machines cannot be", len(h.Machines))
	case strings.ContainsAny(h.Name, "/\\\x00") || strings.HasPrefix(h.Name, ".") || len(h.Name) > 200:
		return fmt.Errorf("name %.40q cannot be part of a path", h.Name)
	}
	for _, sum := range append([]string{h.Plan, h.Graph, h.FeaturesSum}, h.identities()...) {
		if !isSum(sum) {
			return fmt.Errorf("%.80q is no SHA-256", sum)
		}
	}
	first, vertices := 0, 0
	for i, m := range h.Machines {
		if m.First != first || m.Parts < 1 || m.Parts > maxParts || m.Vertices < m.Parts || m.Vertices > h.Vertices || m.Others < 0 || m.Others > h.Vertices {
			return fmt.Errorf("machine %d: %d parts from %d on, of %d vertices and %d others, cannot be", i, m.Parts, m.First, m.Vertices, m.Others)
		}
		first, vertices = first+m.Parts, vertices+m.Vertices
	}
	if vertices != h.Vertices || first > maxParts {
		return fmt.Errorf("machines have %d parts and %d vertices, there are %d", first, vertices, h.Vertices)
	}
	if h.Scaling != nil {
		return h.Scaling.Check(h.Features)
	}
	return nil
}

// identities lists those of the data set.
func (h *Head) identities() []string {
	var out []string
	for _, l := range allLoops {
		out = append(out, h.Identity[l.String()])
	}
	return out
}

var allLoops = []graph.Loops{graph.LoopsKept, graph.LoopsAdded, graph.LoopsRemoved}

// isSum reports whether a text is a hex SHA-256.
func isSum(text string) bool {
	raw, err := hex.DecodeString(text)
	return err == nil && len(raw) == 32
}

// hasMask reports whether the data set has a mask of this key.
func (h *Head) hasMask(key string) bool { return slices.Contains(h.Masks, key) }
