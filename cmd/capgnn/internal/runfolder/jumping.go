package runfolder

import (
	"slices"

	"capgnn/gnn"
)

// jkOption says what the logits are made of.
const jkOption = "jk"

// What --jk may be, and its help.
const (
	jkNone  = "none"
	jkCat   = "cat"
	jkUsage = "jumping knowledge, `HOW` logits are made: none (by the last layer) or cat (all layers have --hidden columns, and one more Linear reads the rows of all, side by side; gcn, sage, gin, gat, gatv2)"
)

// checkJumping looks at jumping knowledge.
func (c *Config) checkJumping(p *problems) {
	model := gnn.Kind(c.Model)
	if p.oneOf(jkOption, c.JK, jkNone, jkCat) && c.JK == jkCat && slices.Contains(Models, model) && !model.Jumps() {
		p.add("--jk cat: --model %s has no jumping knowledge: drop it, or train gcn, sage, gin, gat or gatv2", c.Model)
	}
}

// Jumps reports whether a run's model has jumping knowledge, and how it is made.
func (c *Config) Jumps() (how string, ok bool) { return c.JK, c.JK == jkCat }
