// Package rapa cuts graphs into parts for devices of different speed and memory (resource-aware partitioning).
//
// Its nouns: Options say what is wanted; Targets are shares of the work per part, from measured Rates; a Plan is the
// partition with what it costs.
//
// # Contract
//
// Partition is a function of graph, training vertices and Options: same arguments, same Plan, for any number of threads
// and on every run. It runs in the caller's goroutine and looks at its context several times a second. Every vertex is in
// exactly one part, no part is empty, and no part holds more than ⌈Balance·target·n⌉ vertices; in-edges and training
// vertices are kept within SoftBalance of their targets as well as the graph allows. Directed graphs are cut as if
// undirected; loops count nowhere. ReadPlan takes any file and answers with a sound plan or an error.
//
// # Source
//
// The paper partitions with METIS at equal sizes (§4.1) and then prunes (Algorithms 2 and 3). We differ: targets come
// from the profile, edges and training vertices are balanced too, and the partitioner is a streaming one that is refined
// and restreamed (Fennel, Fiduccia-Mattheyses); see the heads of stream.go and refine.go. Nothing is pruned here.
//
// # Usage
//
//	rates := []rapa.Rate{{Class: "rtx 3090", MM: 0.138, SpMM: 0.106}, {Class: "gtx 1660 ti", MM: 0.994, SpMM: 0.341}}
//	targets, err := rapa.Targets(rates, 0.5, 0)
//	opt := rapa.Options{Parts: len(rates), Targets: targets, Seed: 1}
//	plan, err := rapa.ReadPlan(path)
//	if err != nil || plan.Key != rapa.Key(g, train, opt) {
//		plan, err = rapa.Partition(ctx, g, train, opt, nil)
//		err = rapa.WritePlan(path, plan)
//	}
//	part := plan.Part // part of every vertex
package rapa
