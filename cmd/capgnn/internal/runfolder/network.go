package runfolder

import (
	"errors"
	"fmt"

	"capgnn/gnn"
	"capgnn/internal/learn"
	"capgnn/model"
)

// Arguments returns what the builder of --model takes, for data of this many features and classes.
func (c *Config) Arguments(features, classes int) model.Arguments {
	return model.Arguments{In: features, Out: classes, Layers: c.Layers, Hidden: c.Hidden, Heads: c.Heads, Alpha: c.Teleport, Theta: c.Theta,
		Norm: c.Norm, Residual: c.Residual, JK: c.JK, Activation: model.Op(c.Activation),
		Dropout: c.Dropout, DropFeatures: c.DropFeatures, AttentionDropout: c.AttentionDropout}
}

// Network returns the network for data of this many features and classes, or what is wrong with it. Lines begin with
// the setting.
func (c *Config) Network(features, classes int, multi bool) (gnn.Config, error) {
	m := c.custom
	if m == nil {
		b, err := model.Named(c.Model)
		if err != nil {
			return gnn.Config{}, err
		}
		p, err := b.Build(c.Arguments(features, classes))
		if err != nil {
			return gnn.Config{}, err
		}
		if m, err = gnn.NewModel(p); err != nil {
			return gnn.Config{}, err
		}
	}
	var errs []error
	if m.In != features {
		errs = append(errs, fmt.Errorf("model reads %d features, and the data set has %d", m.In, features))
	}
	if m.Out != classes {
		errs = append(errs, fmt.Errorf("model has %d outputs, and the data set %d classes", m.Out, classes))
	}
	return m.Config(multi, c.Seed), errors.Join(errs...)
}

// NetworkOf is Network for a problem.
func (c *Config) NetworkOf(p *learn.Problem) (gnn.Config, error) {
	return c.Network(p.Features.Cols, p.Classes, p.Targets != nil)
}

// network returns the network for some data that it fits.
func (c *Config) network() (gnn.Config, error) {
	if c.custom != nil {
		return c.custom.Config(false, c.Seed), nil
	}
	return c.Network(1, 1, false)
}

// AnyNetwork returns the network for some data that it fits, or that of a run where nothing is said if settings make
// none.
func (c *Config) AnyNetwork() gnn.Config {
	m, err := c.network()
	if err != nil {
		plain := Default()
		m, _ = plain.network()
	}
	return m
}

// Exchanges returns how often the model reads rows of neighbours: layers that have fan-outs, and may be stale.
func (c *Config) Exchanges() int { return c.AnyNetwork().Layers }

// dropsFeatures reports whether the model drops features, and might not.
func (c *Config) dropsFeatures() bool {
	b, err := model.Named(c.Model)
	return (err != nil || b.Has(dropFeaturesOption)) && c.AnyNetwork().DropsFeatures()
}
