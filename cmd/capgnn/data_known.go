package main

import "capgnn/graph/dataset/fetch"

// knownSet is a published data set: what its publication says of it, and where it lies.
type knownSet = fetch.Published

// knownSets are the published sets that the readers are written for.
var knownSets = fetch.Known()
