// Package named makes models that have a name, of settings that tests change. Tests only.
//
// Its nouns: a Kind is the name of a model; a Model is one with its settings. Config panics where these are wrong.
//
// # Usage
//
//	m := named.Model{Kind: named.SAGE, Layers: 2, Hidden: 16, In: 100, Out: 7}
//	m.Dropout = 0.5
//	w := gnn.NewWeights(named.Config(m, gnn.NewModel))
package named
