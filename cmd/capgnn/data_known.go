package main

import "capgnn/graph/dataset"

// knownSet is a published data set: what its publication says of it, and where it lies.
type knownSet = dataset.Published

// knownSets are the published sets that the readers are written for.
var knownSets = dataset.KnownSets()
