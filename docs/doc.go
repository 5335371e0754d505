// Package docs holds those of the documents that the program carries along: the scripts of its baselines, as they lie in
// this folder.
//
// Contract: read-only files; paths are those below docs/.
//
//	script, err := docs.Scripts.ReadFile("bench/peers/torch_epoch.py")
package docs

import "embed"

// Scripts are the Python programs that `capgnn bench peers` and `bench sampler` run. They find each other,
// and the reader of stores in package python, by their places below one folder.
//
//go:embed bench/peers/common.py bench/peers/torch_epoch.py bench/peers/pyg_epoch.py bench/peers/dgl_epoch.py bench/peers/dgl_sampler.py
var Scripts embed.FS
