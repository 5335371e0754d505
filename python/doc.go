// Package python holds the Python package capgnn of this folder, for the scripts that the program carries along: package docs has
// them, and they read stores with it.
//
// Contract: read-only files; paths are those below python/. docs/guide/python.md says what the Python package does.
//
//	reader, err := python.Package.ReadFile("capgnn/store.py")
package python

import "embed"

// Package is the Python package without its tests.
//
//go:embed capgnn/*.py capgnn/tracing/*.py
var Package embed.FS
