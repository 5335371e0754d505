// Package learn says what a run learns and how well it does.
//
// Its nouns: a Problem is a graph with features, labels and splits; Features are its rows, dense or sparse; a Tally is what is counted of the
// logits of some vertices of one split, and Metrics are the scores that it makes.
//
// # Contract
//
// A Problem is read-only, and its slices are indexed by original vertex id. Tallies of disjoint vertices add up, in whatever parts or chunks they were
// counted: counts are exact, the sum of losses is in the order of Add. A Tally survives JSON with every bit (Number).
//
// # Usage
//
//	n := p.Count(ids, logits, p.Val, true).Add(p.Count(others, more, p.Val, true))
//	score, loss := n.Score(p.Targets != nil), n.FiniteLoss()
package learn
