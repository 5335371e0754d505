package pipeline

import (
	"errors"
	"slices"

	"capgnn/gnn"
	"capgnn/gpu"
	"capgnn/gpu/window"
	"capgnn/hostmem"
	"capgnn/internal/meet"
	"capgnn/pipeline/halo"
)

// turns are those of a part on a device that other parts use, too (Options.Stream). Parts of a device come one after
// another, in each exchange and in each sum over all vertices: a turn of a part goes from one of these to the next. A
// part that has its device for itself has nothing to give way to.
type turns struct {
	space       *window.Space // nil: the part has its device for itself
	window      *window.Window
	w           *worker
	mine, next  chan gpu.Event // the part before has done its turn; the part has done its own
	before      int            // the part before
	train, eval *window.Script
}

var _ halo.Turns = (*turns)(nil)

// turnOf names a turn in errors.
type turnOf struct{}

func (turnOf) String() string { return "a turn" }

const atDevice = "its turn on the device"

// Recording implements halo.Turns.
func (t *turns) Recording() bool { return t.space != nil && t.space.Recording() }

// Next implements halo.Turns.
func (t *turns) Next() {
	if t.space == nil {
		return
	}
	if t.space.Recording() {
		t.space.Next()
		return
	}
	t.end()
	t.begin()
}

// Meet implements gnn.Meeter while operations are recorded.
func (t *turns) Meet(gpu.Queue, []byte, func([][]byte)) { t.Next() }

// run begins the first turn of a script.
func (t *turns) run(s func(*turns) *window.Script) {
	if t != nil && t.space != nil {
		t.space.Run(s(t))
		t.begin()
	}
}

// over ends the last turn of a script.
func (t *turns) over() {
	if t != nil && t.space != nil {
		t.end()
	}
}

func ofTraining(t *turns) *window.Script   { return t.train }
func ofEvaluation(t *turns) *window.Script { return t.eval }

// begin waits for the part's turn, and brings to the device what it reads.
func (t *turns) begin() {
	w := t.w
	if done := meet.Receive(w.Waits.Hub, t.mine, w.Index, t.before, atDevice); done != nil {
		w.Waits.For(w.Compute, done, t.before, turnOf{}, atDevice)
	}
	t.space.Up()
}

// end brings to the host what later turns read, and gives the device to the next part.
func (t *turns) end() {
	t.space.Down()
	done := t.w.Compute.Record()
	t.w.Waits.Owe(done)
	t.next <- done
}

// stream gives the workers of each device a window, if parts take turns.
func (t *Trainer) stream() {
	if !t.o.Stream {
		return
	}
	for _, w := range t.workers {
		w.turns = &turns{w: w}
		w.Next = w.turns.Next
		of := t.partsOf(w.Device)
		if len(of) == 1 {
			continue
		}
		if w.turns.window = of[0].turns.window; of[0] == w {
			w.turns.window = window.New(w.Device)
			t.windows = append(t.windows, w.turns.window)
		}
		var host window.HostMemory
		if !w.accounts {
			host = func(name string, size gpu.Bytes) ([]byte, func(), error) {
				b := w.ep.Memory.Pin(name, size)
				return b, func() { w.Unpin(b) }, w.Failed
			}
		}
		s := w.turns.window.NewSpace(w.Compute, host)
		w.space, w.turns.space, w.Compute = s, s, s.Queue()
		w.ep.Compute, w.side = w.Compute, w.Compute
		w.turns.mine = make(chan gpu.Event, 1)
		if of[0] == w {
			w.turns.mine <- nil
		}
	}
	for _, w := range t.workers {
		of := t.partsOf(w.Device)
		k := slices.Index(of, w)
		next := of[(k+1)%len(of)]
		w.turns.next, next.turns.before = next.turns.mine, w.Index
	}
}

// partsOf returns the workers of a device.
func (t *Trainer) partsOf(dev gpu.Device) (list []*worker) {
	for _, w := range t.workers {
		if w.Device == dev {
			list = append(list, w)
		}
	}
	return list
}

// settle ends the use of a window by a part that has been put there.
func (w *worker) settle() error {
	if w.space == nil {
		return nil
	}
	return w.space.Settle()
}

// record finds what a part's turns read and write.
func (t *Trainer) record(w *worker) error {
	s := w.turns
	if w.space == nil {
		return nil
	}
	if w.Pass != nil {
		w.Pass.Meets(s)
		s.train = s.space.Record(func() { w.runTrain(0, 1, nil) })
		s.space.Reserve(s.train)
	}
	w.eval.Meets(s)
	s.eval = s.space.Record(func() { w.eval.Forward(w.Compute, w.evalHalo, 0) })
	s.space.Reserve(s.eval)
	return s.space.Err()
}

// reach makes windows as large as the largest of their parts.
func (t *Trainer) reach() error {
	for _, w := range t.workers {
		if s := w.turns; w.space != nil {
			if err := s.window.Reach(s.space.Size()); err != nil {
				return err
			}
		}
	}
	return nil
}

// Streamed is what an epoch of parts that take turns moves between their device and the host's memory, and what the
// device's window takes. Amounts are in bytes.
type Streamed struct {
	Parts            int
	Up, Down, Window gpu.Bytes
}

// Streams returns that by device, and the host's memory for what is not on the device: of each device's parts, which
// are placed one after another, with the most that one has for a while.
func (t *Trainer) Streams() (all map[gpu.Device]Streamed, host gpu.Bytes) {
	all = map[gpu.Device]Streamed{}
	brief := map[gpu.Device]gpu.Bytes{}
	for _, w := range t.workers {
		if s := w.turns; w.space != nil {
			d := all[w.Device]
			up, down := s.train.Bytes()
			rowsUp, rowsDown := w.trainHalo.(*halo.Streamed).Moves()
			all[w.Device] = Streamed{d.Parts + 1, d.Up + up + rowsUp, d.Down + down + rowsDown, s.window.Size()}
			now, most := s.space.HostSize()
			host += now
			brief[w.Device] = max(brief[w.Device], most-now)
		}
	}
	for _, n := range brief {
		host += n
	}
	return all, host
}

// checkStream says what parts that take turns cannot do.
func (o *Options) checkStream() error {
	c := &o.Cache
	switch {
	case !o.Stream:
		return nil
	case o.Isolated != nil:
		return errors.New("isolated parts take turns by themselves: they are not streamed")
	case o.Ranks != nil && o.Ranks.Ranks() > 1:
		return errors.New("parts of several ranks cannot be streamed")
	case c.Staleness > 0 || c.Pipeline:
		return errors.New("stale rows: parts that are streamed read rows of their own epoch")
	case c.HaloType != halo.FP32:
		return errors.New("encoded halo rows: parts that are streamed exchange rows as they are stored")
	}
	return nil
}

// unlocked says how host memory is taken that parts take turns with.
func (o *Options) unlocked() hostmem.LockOptions {
	l := o.Cache.Lock()
	if l.Pinner == nil {
		l.Unlocked = !l.Heap
	}
	return l
}

var _ gnn.Meeter = (*turns)(nil)
