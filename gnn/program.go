package gnn

import "capgnn/model"

// Arguments returns what a model's builder takes. Loops, which the graph of a run has already, are left out.
func (c Config) Arguments() model.Arguments {
	return model.Arguments{In: c.In, Out: c.Out, Layers: c.Layers, Hidden: c.Hidden, Heads: c.Heads, Alpha: c.Alpha, Theta: c.Theta,
		NoNorm: c.NoNorm, Residual: c.Residual, Jumping: c.Jumping, Activation: model.Op(c.Activation), Dropout: c.Dropout,
		DropFeatures: c.DropFeatures}
}

// Program returns the model as a program. c is valid.
func (c Config) Program() *model.Program {
	p, err := c.program()
	if err != nil {
		panic("gnn: " + err.Error())
	}
	return p
}

// program is Program of settings that may make none.
func (c Config) program() (*model.Program, error) {
	if c.Custom != nil {
		return c.Custom.Program, nil
	}
	b, err := model.Named(string(c.Kind))
	if err != nil {
		return nil, err
	}
	return b.Build(c.Arguments())
}

// nodes returns the steps of the model's program, and the dropout of features, nil if there is none.
func (c Config) nodes() ([]*node, *then) {
	f, err := fuse(c.Program())
	if err != nil {
		panic("gnn: " + err.Error())
	}
	return f.nodes, f.drop
}
