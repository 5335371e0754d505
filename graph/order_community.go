package graph

import (
	"cmp"
	"context"
	"slices"
)

const (
	// orderSample is the number of neighbours of a vertex that are looked at.
	orderSample = 32
	// orderRows is the size in vertices of the smallest clusters wanted.
	orderRows = 1024
	// orderUnit is the weight of one edge: the resolution of weights of samples.
	orderUnit = 16
)

func OrderCommunity(ctx context.Context, g *CSR, threads int) ([]int32, error) {
	c := newCrew(ctx, Making{Threads: threads})
	u, err := undirected(c, g)
	if err != nil {
		return nil, err
	}
	w, err := sampled(c, u)
	if err != nil {
		return nil, err
	}
	var parents [][]int32
	for gamma := max(1, float64(w.size())/(4*orderRows)); w.size() > 1 && gamma > 1.0/16; gamma /= 4 {
		label, err := w.cluster(c, gamma)
		if err != nil {
			return nil, err
		}
		k := compact(label)
		if k == w.size() {
			continue
		}
		parents = append(parents, label)
		if w, err = w.contract(c, label, k); err != nil {
			return nil, err
		}
	}
	return unfold(w, parents, g.Rows()), nil
}

// compact renumbers labels from 0 by first appearance and returns how many there are.
func compact(label []int32) int {
	name := make([]int32, len(label))
	k := int32(0)
	for v, l := range label {
		if name[l] == 0 {
			k++
			name[l] = k
		}
		label[v] = name[l] - 1
	}
	return int(k)
}

// unfold ranks the vertices of the lowest level: clusters of the top level by falling volume, members of a cluster side by
// side, in the order of their ids.
func unfold(top *weighted, parents [][]int32, n int) []int32 {
	order := make([]NodeID, top.size())
	for i := range order {
		order[i] = NodeID(i)
	}
	slices.SortFunc(order, func(a, b NodeID) int {
		return cmp.Or(cmp.Compare(top.strength[b], top.strength[a]), cmp.Compare(a, b))
	})
	rank := ranks(order)
	for _, parent := range slices.Backward(parents) {
		next := make([]int32, len(rank)+1)
		for _, p := range parent {
			next[rank[p]+1]++
		}
		for i := range rank {
			next[i+1] += next[i]
		}
		child := make([]int32, len(parent))
		for v, p := range parent {
			child[v] = next[rank[p]]
			next[rank[p]]++
		}
		rank = child
	}
	return rank
}
