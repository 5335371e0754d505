package prediction

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"capgnn/cmd/capgnn/internal/ranks"
	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/cmd/capgnn/internal/training"
	"capgnn/gnn"
	"capgnn/graph/dataset"
	"capgnn/hostmem"
	"capgnn/internal/learn"
)

// beginning is what rank 0 says of a prediction. Other ranks have the data set, and not the run folder.
type beginning struct {
	Config  string           `json:"config"`
	What    string           `json:"what"`
	Layer   int              `json:"layer"`
	Other   bool             `json:"other"`
	Scaling *dataset.Scaling `json:"scaling"`
	Columns []string         `json:"columns"` // names of the run's
	In      int              `json:"in"`      // columns that the model reads, and gives
	Out     int              `json:"out"`
}

// Together returns the prediction of one of several ranks. It is the one that begin returns, which only rank 0 is asked for, but for what is this rank's own.
func Together(ctx context.Context, k *term.Console, m *ranks.Members, own training.Own, begin func() (*Prediction, error)) (*Prediction, error) {
	p := &Prediction{}
	var says beginning
	var err error
	if m.Leads() {
		if p, err = begin(); err == nil {
			err = p.loadWeights()
		}
		var text []byte
		if err == nil {
			text, err = runfolder.FormatConfig(&p.Config)
			says = beginning{string(text), p.What, p.Layer, p.Other, p.scaling, p.names.Columns, p.model.In, p.model.Out}
		}
	}
	if err := m.Agree(ctx, err); err != nil {
		return nil, err
	}
	if says, err = ranks.First(ctx, m, says); err != nil {
		return nil, err
	}
	program, err := m.FirstBytes(ctx, p.program())
	if err != nil {
		return nil, err
	}
	if m.Leads() {
		p.Ranks, p.Own = m, own
	} else {
		p, err = says.take(k, m, own, program)
	}
	if err := m.Agree(ctx, err); err != nil {
		return nil, err
	}
	mine := hostmem.Bytes(p.values.Flat)
	got, err := m.FirstBytes(ctx, mine)
	if err == nil && len(got) != len(mine) {
		err = m.Fail(fmt.Errorf("rank 0 sent %d bytes of weights, the model has %d", len(got), len(mine)))
	}
	copy(mine, got)
	return p, err
}

// take returns the prediction of a rank that rank 0 speaks to.
func (b *beginning) take(k *term.Console, m *ranks.Members, own training.Own, program []byte) (*Prediction, error) {
	run, err := training.TakePart(k, m, own, b.Config)
	if err == nil {
		err = run.Config.SetProgram(program)
	}
	if err != nil {
		return nil, err
	}
	p := &Prediction{Run: run, What: b.What, Layer: b.Layer, Other: b.Other, scaling: b.Scaling, names: runfolder.DataNames{Columns: b.Columns}}
	if p.model, err = p.Config.Network(b.In, b.Out, false); err != nil {
		return nil, err
	}
	p.values = gnn.NewWeights(p.model)
	return p, nil
}

// program returns the text of the run's program, nil where there is none.
func (p *Prediction) program() []byte {
	if p.Run == nil {
		return nil
	}
	return p.Config.Program()
}

// agree returns the error with which a step ends: of several ranks the first one's.
func (p *Prediction) agree(ctx context.Context, err error) error {
	if p.Ranks == nil {
		return err
	}
	if ctx.Err() != nil {
		err = &term.InterruptedError{Note: "nothing was written"}
	}
	return p.Ranks.Agree(context.WithoutCancel(ctx), err)
}

// identity is what ranks compare of their data sets.
func identity(p *learn.Problem) string {
	h := sha256.New()
	for _, raw := range [][]byte{hostmem.Bytes(p.Graph.Indptr), hostmem.Bytes(p.Graph.Indices), hostmem.Bytes(p.Graph.Weights), hostmem.Bytes(p.Features.Dense), hostmem.Bytes(p.Features.Indptr),
		hostmem.Bytes(p.Features.Indices), hostmem.Bytes(p.Features.Data)} {
		fmt.Fprintln(h, len(raw))
		h.Write(raw)
	}
	return hex.EncodeToString(h.Sum(nil))
}
