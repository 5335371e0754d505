package gnn

import "capgnn/model"

// Arguments returns what a model's builder takes. Loops, which the graph of a run has already, are left out.
func (c Config) Arguments() model.Arguments {
	return model.Arguments{In: c.In, Out: c.Out, Layers: c.Layers, Hidden: c.Hidden, Heads: c.Heads, Alpha: c.Alpha, Theta: c.Theta,
		NoNorm: c.NoNorm, BatchNorm: c.BatchNorm, Residual: c.Residual, Jumping: c.Jumping, Activation: model.Op(c.Activation), Dropout: c.Dropout,
		DropFeatures: c.DropFeatures, AttentionDropout: c.AttentionDropout}
}

// build returns the program of a model that has a name.
func (c Config) build() (*Custom, error) {
	b, err := model.Named(string(c.Kind))
	if err != nil {
		return nil, err
	}
	return built(b, c.Arguments())
}

// built returns what is known of a program that a builder makes.
func built(b model.Builder, a model.Arguments) (*Custom, error) {
	p, err := b.Build(a)
	if err != nil {
		return nil, err
	}
	c, err := NewCustom(p)
	if err == nil {
		c.grown = func(in, out int) []Tensor {
			wide := a
			wide.In, wide.Out = in+a.In, out+a.Out
			if w, err := built(b, wide); err == nil {
				return w.tensors
			}
			return c.tensors
		}
	}
	return c, err
}

// custom returns what is known of the model's program. c is valid.
func (c Config) custom() *Custom {
	if c.Custom != nil {
		return c.Custom
	}
	p, err := c.build()
	if err != nil {
		panic("gnn: " + err.Error())
	}
	return p
}

// Built returns the model with its program, if it has none yet, so that it is not made again by every question.
// Layers are the exchanges of the program then. An invalid model stays as it is.
func (c Config) Built() Config {
	if c.Custom != nil {
		return c
	}
	if p, err := c.build(); err == nil {
		c.Custom, c.Layers = p, len(p.layers)
	}
	return c
}
