package gnn

import "capgnn/model"

// Program returns the model as a program. c is valid.
func (c Config) Program() *model.Program {
	a := model.Arguments{In: c.In, Out: c.Out, Layers: c.Layers, Hidden: c.Hidden, Heads: c.Heads, Alpha: c.Alpha, Theta: c.Theta,
		NoNorm: c.NoNorm, Residual: c.Residual, Jumping: c.Jumping, Activation: model.Op(c.Activation), Dropout: c.Dropout,
		DropFeatures: c.DropFeatures}
	for _, b := range model.Builders {
		if b.Name == string(c.Kind) {
			p, err := b.Build(a)
			if err != nil {
				panic("gnn: " + err.Error())
			}
			return p
		}
	}
	panic("gnn: no model " + string(c.Kind))
}
