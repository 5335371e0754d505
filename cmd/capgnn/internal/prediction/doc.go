// Package prediction writes what the weights of a run say of every vertex: logits, labels or hidden embeddings.
//
// Its nouns: a Prediction, a run (package training) whose weights are used, on its own data set or another one; a table, the
// predicted rows by vertex; a Result, what the command prints.
//
// # Contract
//
// Row i is vertex i of the data set, whatever the devices. Features are standardised as the run's were, never with the rows
// of another data set. Columns and classes are compared with the run's by name, where both have names. Weights that do not
// fit the settings, and data that do not fit the weights, are refused before anything is computed. Nothing is written until all is predicted.
//
// Forward passes are of package pipeline; data, devices and parts are chosen by package training. Begin with prediction.go;
// files are written by table.go.
//
//	p := &prediction.Prediction{Run: t, Folder: dir, Weights: dir.Best(), What: prediction.Labels, Layer: -1}
//	result, err := p.Predict(ctx)
package prediction
