package reduce

import (
	"encoding/binary"
	"math"
	"slices"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/internal/meet"
)

// Clipping limits the norm of the whole gradient: behind all sums, and before any step, the gradient g becomes g·min(1, Clip/(‖g‖ + 1e-6)), as
// torch.nn.utils.clip_grad_norm_ has it.
//
// Method: the elements of every layer are cut into blocks that depend on the model alone. An owner's slices are whole blocks. It adds up the squares of each block with Dot,
// whose bits depend on the block's length, and sends them to the host; when those of all owners are there, each adds them up in float64 in the order of blocks. So the
// norm, and with it every bit, does not depend on devices, slices or ranks. Of several ranks the last one clips, which has the sums.

// normBlock is the elements of a block, 64 KiB: a launch costs little beside its reads, and a gradient of a million elements has 60 of them.
const normBlock = 1 << 14

// beside is what torch adds to a norm that it divides by.
const beside = 1e-6

// blocksOf cuts the elements of layers into blocks, ascending.
func blocksOf(layers [][]gnn.Range) (all []gnn.Range) {
	for _, ranges := range layers {
		for _, g := range ranges {
			for lo := g.Lo; lo < g.Hi; lo += normBlock {
				all = append(all, gnn.Range{Lo: lo, Hi: min(g.Hi, lo+normBlock)})
			}
		}
	}
	slices.SortFunc(all, func(a, b gnn.Range) int { return a.Lo - b.Lo })
	return all
}

// floor returns the last element at which a slice may end, up to one: at the border of a cache line, or of a block.
func (d *Division) floor(at int) int {
	if !d.at.Clips {
		return at / align * align
	}
	i, whole := slices.BinarySearchFunc(d.blocks, at, func(b gnn.Range, at int) int { return b.Lo - at })
	switch {
	case whole:
		return at
	case i > 0 && at >= d.blocks[i-1].Hi: // behind the last one
		return d.blocks[i-1].Hi
	}
	return d.blocks[max(0, i-1)].Lo
}

// nearest returns the element nearest to one at which a slice may end.
func (d *Division) nearest(at int) int {
	if !d.at.Clips {
		return d.floor(at + align/2)
	}
	lo := d.floor(at)
	i, _ := slices.BinarySearchFunc(d.blocks, lo, func(b gnn.Range, at int) int { return b.Lo - at })
	if i < len(d.blocks) && d.blocks[i].Hi-at < at-lo {
		return d.blocks[i].Hi
	}
	return lo
}

// blocksIn returns which blocks are those of a piece.
func (d *Division) blocksIn(x *piece) (lo, hi int) {
	find := func(at int) int {
		i, _ := slices.BinarySearchFunc(d.blocks, at, func(b gnn.Range, at int) int { return b.Lo - at })
		return i
	}
	return find(x.Lo), find(x.Hi)
}

// clipping is what the owners of a process share of it.
type clipping struct {
	most    float64            // the largest norm
	host    []byte             // squares by block, then by part the factor of its gradients, as float32
	squared [][]chan gpu.Event // by owner and reading owner: the squares of a lane are there; nil: the part owns nothing
	norms   struct {
		sum   float64 // of the steps since they were taken
		steps int
	}
}

// newClipping returns that of parts whose owners step and clip; nil: none does.
func newClipping(parts []Part, d *Division) *clipping {
	if !d.at.Clips || !d.at.last() {
		return nil
	}
	c := &clipping{host: make([]byte, 4*(len(d.blocks)+len(parts))), squared: make([][]chan gpu.Event, len(parts))}
	for i := range parts {
		if d.home[i] != i {
			continue
		}
		c.most = parts[i].Owner.rule.Clip
		c.squared[i] = make([]chan gpu.Event, len(parts))
		for k := range parts {
			c.squared[i][k] = make(chan gpu.Event, lanes)
		}
	}
	return c
}

// square enqueues the squares of a piece's blocks behind its sum.
func (r *Reduction) square(owner, index int, q gpu.Queue) {
	p, x := &r.parts[owner], &r.pieces[owner][index]
	lo, hi := r.blocksIn(x)
	for b := lo; b < hi; b++ {
		g := row(p.Gradients.Slice(r.blocks[b].Lo, r.blocks[b].Hi))
		q.Dot(p.Owner.squares.Slice(b, b+1), g, g, 0)
	}
	if hi > lo {
		q.Download(r.clip.host[4*lo:4*hi], p.Owner.squares.Buf, 4*gpu.Bytes(p.Owner.squares.Off+lo))
	}
}

// limit waits until the squares of all owners are there, and enqueues the factor of an owner's gradients to its device, on each of the queues. It reports whether they
// have to be multiplied by it. It ends the part's meet.Guard where squares do not come.
func (r *Reduction) limit(owner int, queues ...gpu.Queue) bool {
	p, c := &r.parts[owner], r.clip
	for _, q := range queues {
		event := q.Record()
		for o := range r.parts {
			if r.home[o] == o && o != owner {
				c.squared[owner][o] <- event
			}
		}
		await(p, event)
	}
	for o := range r.parts {
		if r.home[o] != o || o == owner {
			continue
		}
		for range queues {
			await(p, meet.Receive(r.hub, c.squared[o][owner], r.number(owner), r.number(o), "squares of gradients"))
		}
	}
	norm := c.norm(len(r.blocks))
	if owner == r.home[0] {
		c.norms.sum, c.norms.steps = c.norms.sum+norm, c.norms.steps+1
	}
	factor := c.most / (norm + beside)
	if factor >= 1 {
		return false
	}
	at := c.host[4*(len(r.blocks)+owner):][:4]
	binary.NativeEndian.PutUint32(at, math.Float32bits(float32(factor)))
	for lane, q := range queues {
		q.Upload(p.Owner.factor[lane].Buf, 4*gpu.Bytes(p.Owner.factor[lane].Off), at)
	}
	return true
}

// scale enqueues the product of gradients with the factor of a lane.
func (o *Owner) scale(q gpu.Queue, lane int, gradients gpu.Vec) {
	q.ScaleRows(row(gradients), row(gradients), o.factor[lane])
}

// norm adds up the squares of all blocks.
func (c *clipping) norm(blocks int) float64 {
	sum := 0.0
	for b := range blocks {
		sum += float64(math.Float32frombits(binary.NativeEndian.Uint32(c.host[4*b:])))
	}
	return math.Sqrt(sum)
}

// clipAndStep takes the steps of all pieces of an owner, whose sums and squares have been enqueued.
func (r *Reduction) clipAndStep(owner int) {
	p := &r.parts[owner]
	scales := r.limit(owner, p.Lanes[:]...)
	for i := range r.pieces[owner] {
		if x := &r.pieces[owner][i]; scales {
			p.Owner.scale(p.lane(i), i%lanes, p.Gradients.Slice(x.Lo, x.Hi))
		}
		r.step(owner, i)
	}
}

// await waits for an event on the host.
func await(p *Part, event gpu.Event) {
	if err := p.Waits.Await(event); err != nil {
		meet.Stop(err)
	}
}

// TakeNorms returns the sum of the gradients' norms before clipping, over all steps since the last call, and the
// number of steps: 0 if nothing is clipped, and on all ranks but the last. No step may be running.
func (r *Reduction) TakeNorms() (sum float64, steps int) {
	if r.clip == nil {
		return 0, 0
	}
	n := &r.clip.norms
	sum, steps = n.sum, n.steps
	n.sum, n.steps = 0, 0
	return sum, steps
}
