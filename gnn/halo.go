package gnn

import (
	"capgnn/gpu"
	"capgnn/internal/direction"
)

// Direction tells the two exchanges of a layer apart.
type Direction = direction.Direction

// Directions of an exchange.
const (
	Forward  = direction.Forward  // rows of H (or what the layer made of it) flow from u to v
	Backward = direction.Backward // gradients flow from v back to u
)

// Halo brings a layer the rows of vertices that other devices own. Package pipeline/halo implements it; placement, staleness,
// queues and transports all live behind it. Every device calls the same sequence of Begin and Wait in an epoch. A nil Halo
// means that there is no other part.
type Halo interface {
	// Begin offers this device's rows of one exchange; rows is read by operations enqueued on q before Begin returns, so
	// the caller may overwrite it later on q.
	Begin(q gpu.Queue, layer int, dir Direction, rows gpu.Matrix)
	// Wait makes q wait for the halo rows of the exchange and returns them, indexed as the operand's Halo columns. They
	// stay valid for what is enqueued on q before the next Begin; where they are kept (Exchange.Kept), forward
	// rows stay until the layer's backward exchange begins.
	Wait(q gpu.Queue, layer int, dir Direction) gpu.Matrix
}

// Meeter has the parts of a run sum over all of their rows. Package internal/trainer implements it.
type Meeter interface {
	// Meet has f run on the host with what every part offers at a meeting, in part order, when q and theirs have run
	// what they were given before. All parts call it as often, in one order, for as
	// many bytes. own is written by operations of q alone, and stays until the gradients of all parts are summed up.
	Meet(q gpu.Queue, own []byte, f func(parts [][]byte))
}

// Operand is one layer's adjacency on one device in one direction: rows × inner columns and rows × halo columns.
// Entry (v, u) weighs RowScale[v]·ColScale[u] (HaloScale[u] for halo columns), times the CSR's own value if it has any, or the
// one of the kind of sum (Config.Sums): then it has the values of all entries kind after kind;
// an empty scale is 1.
type Operand struct {
	Inner, Halo                   gpu.CSR
	RowScale, ColScale, HaloScale gpu.Vec
	HaloIDs                       gpu.Ints // original vertex id of every halo column, where weights of attention are dropped
}

// LayerGraph is what a layer aggregates over on one device. Layer ℓ reads Src inner rows and computes the first Rows of
// them.
type LayerGraph struct {
	Rows, Src int
	// HaloRows is the number of rows of the forward halo matrix.
	HaloRows int
	// Stored is the number of entries of sparse features that layer 0 reads, where training drops features.
	Stored   int
	Forward  Operand // Rows × Src, Rows × HaloRows
	Backward Operand // Src × Rows, Src × halo rows; unused in evaluation
	// HaloBack is the transpose of Forward.Halo (HaloRows × Rows), for a replicated first layer and for layers that return gradients
	// (LayerPlan.Returns). These have in Backward.Halo which of the rows that are returned belong to each row: a sum over them.
	HaloBack gpu.CSR
	// Central lists the rows without halo columns, as ascending ranges below Rows.
	Central []RowRange
}

// RowRange is rows Lo to Hi, Hi excluded.
type RowRange struct{ Lo, Hi int }

// Input is what layer 0 reads on one device. Which fields are used depends on the plan's InputMode.
type Input struct {
	X    Features   // inner rows
	Halo Features   // replicated halo rows
	AX   gpu.Matrix // aggregated inner rows (precomputed); X is dense then
	// RootT is X.SparseT restricted to the rows that layer 0 computes (the second weight of GraphSAGE and GATv2): the same entries in memory, with earlier row ends.
	RootT gpu.CSR
	IDs   gpu.Ints // original vertex id of every inner row, for dropout
}
