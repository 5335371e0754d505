package runfolder

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gnn"
	"capgnn/graph"
	"capgnn/model"
)

// ModelFile reports whether --model names a file and not a model.
func (c *Config) ModelFile() bool { return strings.HasSuffix(c.Model, ".json") }

// ModelName is what folders and tables call the model.
func (c *Config) ModelName() string {
	if c.ModelFile() {
		return FileName(strings.TrimSuffix(filepath.Base(c.Model), ".json"))
	}
	return c.Model
}

// ModelSum is the option that identifies the program of a run.
const ModelSum = "model-sha256"

// readModel reads the program of --model, whose file lies at path and is the one that the run trains.
func (c *Config) readModel(path string) error {
	p, err := ReadProgram(path)
	if err != nil {
		return err
	}
	if is, was := p.SHA256(), c.ModelSHA256; was != "" && is != was {
		return term.Usagef("%s was changed: its SHA-256 is %.12s, that of the model of the run %.12s: restore it, "+
			"or train it in a new run with --model", path, is, was)
	}
	if err := c.use(p); err != nil {
		return term.Usagef("%s: %w", path, err)
	}
	return nil
}

// ReadProgram reads the file of a model. Where it is not there the error says what makes one.
func ReadProgram(path string) (*model.Program, error) {
	p, err := model.Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: `capgnn model show NAME --out FILE.json` writes one, and capgnn.trace makes one of a module", err)
	}
	return p, term.AsUsage(err)
}

// use has the run train a program.
func (c *Config) use(p *model.Program) (err error) {
	if c.custom, err = gnn.NewModel(p); err != nil {
		return err
	}
	c.Layers, c.ModelSHA256 = c.custom.Layers, p.SHA256()
	return nil
}

// Program returns the text of the program of --model; nil: the model has a name.
func (c *Config) Program() []byte {
	if c.custom == nil {
		return nil
	}
	return c.custom.Program.JSON()
}

// SetProgram takes what Program returned elsewhere.
func (c *Config) SetProgram(text []byte) error {
	if len(text) == 0 {
		return nil
	}
	p, err := model.Parse(text)
	if err == nil {
		err = c.use(p)
	}
	return err
}

// RefuseModelOptions refuses options beside --model FILE that the file says.
func (c *Config) RefuseModelOptions(given []string) error {
	if !c.ModelFile() {
		return nil
	}
	for _, name := range given {
		if slices.Contains(ModelOptions(), name) {
			return term.Usagef("--%s with --model %s: the file says what the model is: drop --%s, or change the file", name, c.Model, name)
		}
	}
	return nil
}

// checkSums refuses what trains on some vertices at a time beside a model that sums over all of them.
func (c *Config) checkSums(p *problems) {
	if c.custom == nil {
		return
	}
	n := c.custom.AllSum()
	if n == nil {
		return
	}
	line := ""
	if n.Line != "" {
		line = "  (" + n.Line + ")"
	}
	refuse := func(flag, what string) {
		p.add("%s: node %q of %s is of all vertices, of which %s has some: drop %[1]s, or train a model without that node%[5]s",
			flag, n.Name, filepath.Base(c.Model), what, line)
	}
	if c.Sampled() {
		refuse(Label(batchSize), "a sampled step")
	}
	if c.Isolated.Value != nil {
		refuse(Label(isolated), "an isolated part")
	}
}

// Loops returns what the model makes of self-loops by itself, and whether it does so whatever --self-loops says.
func (c *Config) Loops() (of graph.Loops, fixed bool) {
	b, err := model.Named(c.Model)
	switch {
	case err == nil && b.Loops == model.FullLoops:
		return graph.LoopsAdded, false
	case c.custom == nil:
		return graph.LoopsRemoved, false
	case c.custom.Loops() == model.FullLoops:
		return graph.LoopsAdded, true
	case c.custom.Loops() == model.NoLoops:
		return graph.LoopsRemoved, true
	}
	return graph.LoopsKept, false
}

// WriteModel writes the program of a run into its folder.
func (d Dir) WriteModel(c *Config) error {
	if c.custom == nil {
		return nil
	}
	return term.WriteFile(d.Model(), c.Program())
}

// readModel reads the program of the run in the folder into its settings, if it trains one.
func (d Dir) readModel(c *Config) error {
	if !c.ModelFile() {
		return nil
	}
	if !term.Exists(d.Model()) {
		return term.Usagef("%s is not there: the run trains it: put the file of --model %s there", d.Model(), c.Model)
	}
	return c.readModel(d.Model())
}
