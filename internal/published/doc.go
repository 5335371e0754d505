// Package published finds the published graphs that tests may read and a clone does not hold.
//
// For tests only. The folder is $CAPGNN_SHARED/data, else shared/data beside the repository root.
//
//	d, err := formats.Load(published.Path(t, "coauthor_physics"), dataset.Options{})
package published
