package training

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/ranks"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/gnn"
	"capgnn/hostmem"
	"capgnn/jaca"
	"capgnn/pipeline"
)

// Own is what may be said for one rank, whatever is said for the others: where things lie on its machine, and what computes there.
type Own struct{ Dataset, Devices, Profile string }

// OptionsTogether returns the settings that the flags of a rank say, which all ranks have to agree in before they begin.
func OptionsTogether(c *cli.Context) (map[string]string, error) {
	cfg := runfolder.Default()
	if _, err := runfolder.ApplyFlags(c, &cfg); err != nil {
		return nil, err
	}
	options := map[string]string{"config": c.String("config"), "resume": c.String("resume")}
	for _, o := range runfolder.Options {
		if !o.FileOnly {
			options[strings.TrimPrefix(runfolder.Label(o.Name), "--")] = fmt.Sprint(o.Value(&cfg))
		}
	}
	return options, checkTogether(&cfg)
}

// checkTogether refuses settings that several ranks do not train by.
func checkTogether(c *runfolder.Config) error {
	if c.Cache == string(jaca.Paper) {
		return term.Usagef("--cache %s works within one process: over several ranks choose jaca or none", c.Cache)
	}
	return nil
}

// beginning is what rank 0 says of a run that begins.
type beginning struct {
	Config string        `json:"config"`
	Given  []string      `json:"given"`
	Resume bool          `json:"resume"`
	Dir    runfolder.Dir `json:"dir"` // of the run that is resumed
	Done   bool          `json:"done"`
}

// BeginTogether returns the run of this rank. It has the settings that begin returns, which only rank 0 is asked for, but for what is this
// rank's own. nil: the run that was to be resumed is finished, and rank 0 has its result.
func BeginTogether(ctx context.Context, k *term.Console, m *ranks.Members, own Own, begin func() (*Run, error)) (*Run, *runfolder.Result, error) {
	t := &Run{Console: k, Config: runfolder.Default()}
	var result *runfolder.Result
	var says beginning
	var err error
	if m.Leads() {
		if t, err = begin(); err == nil {
			result, err = t.Finished()
		}
		if err == nil {
			var text []byte
			text, err = runfolder.FormatConfig(&t.Config)
			says = beginning{string(text), t.Given, t.Resume, t.Dir, result != nil}
		}
	}
	if err := m.Agree(ctx, err); err != nil {
		return nil, nil, err
	}
	if says, err = ranks.First(ctx, m, says); err != nil || says.Done {
		return nil, result, err
	}
	if !m.Leads() {
		t.Given, t.Resume, t.Dir = says.Given, says.Resume, says.Dir
		err = runfolder.ParseConfig([]byte(says.Config), &t.Config)
		t.useOwn(own)
	}
	if err := m.Agree(ctx, err); err != nil {
		return nil, nil, err
	}
	program, err := m.FirstBytes(ctx, t.Config.Program())
	if err == nil && !m.Leads() {
		err = t.Config.SetProgram(program)
	}
	t.Ranks, t.Own = m, own
	return t, nil, m.Agree(ctx, err)
}

// useOwn puts what is said for this rank into the settings of rank 0.
func (t *Run) useOwn(own Own) {
	c := &t.Config
	if c.Profile = own.Profile; own.Dataset != "" && own.Dataset != c.Dataset {
		c.Dataset, c.DatasetPath = own.Dataset, ""
	}
	if !term.Exists(c.DatasetPath) { // it lies elsewhere on this machine
		c.DatasetPath = ""
	}
}

// adviseResume adds to the line with which all ranks end how the run goes on, once it has a folder.
func (t *Run) adviseResume(err error) {
	if there := (*term.Elsewhere)(nil); t.written && errors.As(err, &there) && there.Code != term.ExitInterrupted && !strings.Contains(there.Line, vanished) {
		there.Line += fmt.Sprintf(": continue from the last checkpoint with --resume %s", t.resuming(0))
	}
}

// alikeFault makes an error that all ranks have found by themselves one that they need not tell each other.
func alikeFault(err error) error {
	if err == nil {
		return nil
	}
	return &term.Elsewhere{Code: term.ExitCode(err), Line: term.OneLine(err)}
}

// makeRunDir makes the folder of a run for which none was named, and tells all ranks which one it is.
func (t *Run) makeRunDir(ctx context.Context) (err error) {
	if t.Dir == "" && t.Ranks.Leads() {
		err = t.lockNewRunDir()
	}
	if err = t.Ranks.Agree(ctx, err); err == nil && t.Ranks != nil {
		t.Dir, err = ranks.First(ctx, t.Ranks, t.Dir)
	}
	return err
}

// shareInitial gives the weights of --init, which rank 0 has, to all ranks.
func (t *Run) shareInitial(ctx context.Context, model gnn.Config, init *gnn.StateDict) error {
	if t.Ranks == nil || t.Config.Init == "" {
		return nil
	}
	w := t.initial
	if w == nil {
		w = gnn.NewWeights(model)
	}
	mine := hostmem.Bytes(w.Flat)
	got, err := t.Ranks.FirstBytes(ctx, mine)
	if err != nil {
		return err
	}
	if len(got) != len(mine) {
		return t.Ranks.Fail(fmt.Errorf("rank 0 sent %d bytes of weights to start from, the model has %d", len(got), len(mine)))
	}
	copy(mine, got)
	*init = w.StateDict()
	return nil
}

// finishTogether writes what a finished run leaves behind. The result is rank 0's.
func (t *Run) finishTogether(ctx context.Context, r *pipeline.Result) (result *runfolder.Result, err error) {
	if t.Ranks.Leads() {
		result, err = t.finish(r)
	}
	return result, t.Ranks.Agree(ctx, err)
}
