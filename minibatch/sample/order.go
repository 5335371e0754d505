package sample

import (
	"slices"

	"capgnn/gpu"
	"capgnn/graph"
)

// Order returns the vertices of train in the order in which an epoch has them as roots: by the first word of gpu.Philox({0, v,
// 0x5B000000, epoch}), ties by id. It writes to into where that is large enough.
func Order(train []graph.NodeID, seed uint64, epoch uint32, into []graph.NodeID) []graph.NodeID {
	key := gpu.SeedKey(seed)
	keys := make([]uint64, len(train))
	for i, v := range train {
		keys[i] = uint64(gpu.Philox([4]uint32{0, uint32(v), orderStream, epoch}, key)[0])<<32 | uint64(uint32(v))
	}
	slices.Sort(keys)
	into = resized(into, len(train))
	for i, k := range keys {
		into[i] = graph.NodeID(uint32(k))
	}
	return into
}
