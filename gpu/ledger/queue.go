package ledger

import (
	"sync"

	"capgnn/gpu"
)

// queue does nothing but calls, at once.
type queue struct {
	dev   *Device
	name  string
	mu    sync.Mutex
	fault error // of the first call that failed
}

var (
	_ gpu.Queue      = (*queue)(nil)
	_ gpu.PeerCopier = (*queue)(nil)
)

// Call implements gpu.Queue: whoever enqueues runs f.
func (q *queue) Call(op string, f func() error) {
	if q.Fault() != nil {
		return
	}
	if err := f(); err != nil {
		q.mu.Lock()
		defer q.mu.Unlock()
		q.fault = &gpu.Fault{Device: q.dev.info.Name, Queue: q.name, Op: op, Err: err}
	}
}

// Fault implements gpu.Queue.
func (q *queue) Fault() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.fault
}

// Sync implements gpu.Queue.
func (q *queue) Sync() error { return q.Fault() }

// event has always fired.
type event struct{}

var fired = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (event) Done() <-chan struct{} { return fired }

func (*queue) Upload(gpu.Buffer, gpu.Bytes, []byte)   {}
func (*queue) Download([]byte, gpu.Buffer, gpu.Bytes) {}
func (*queue) UploadRows(gpu.Matrix, []byte, []int32) {}
func (*queue) Record() gpu.Event                      { return event{} }
func (*queue) Wait(gpu.Event)                         {}
func (*queue) Usage() gpu.Usage                       { return gpu.Usage{} }
func (*queue) CopyFrom(_, _ gpu.Matrix)               {}

// CanCopyFrom answers for the devices that both ledgers stand for; a ledger that stands for none reaches all.
func (q *queue) CanCopyFrom(src gpu.Device) bool {
	d := q.dev
	if d.real == nil {
		return true
	}
	s, ok := src.(*Device)
	return ok && s.real != nil && d.peers != nil && d.peers.CanCopyFrom(s.real)
}

func (*queue) Fill(gpu.Matrix, float32)                                       {}
func (*queue) Copy(gpu.Matrix, gpu.Matrix)                                    {}
func (*queue) Transpose(gpu.Matrix, gpu.Matrix)                               {}
func (*queue) Axpby(gpu.Matrix, float32, gpu.Matrix, float32)                 {}
func (*queue) ScaleRows(gpu.Matrix, gpu.Matrix, gpu.Vec)                      {}
func (*queue) AddScaled(gpu.Matrix, gpu.Matrix, gpu.Vec)                      {}
func (*queue) Map(gpu.MapArgs)                                                {}
func (*queue) ColSum(gpu.Vec, gpu.Matrix, float32)                            {}
func (*queue) Dot(gpu.Vec, gpu.Matrix, gpu.Matrix, float32)                   {}
func (*queue) Gather(gpu.Matrix, gpu.Matrix, gpu.Ints)                        {}
func (*queue) ScatterAdd(gpu.Matrix, gpu.Matrix, gpu.Ints)                    {}
func (*queue) PackRows(gpu.PackArgs)                                          {}
func (*queue) UnpackRows(gpu.Matrix, gpu.Matrix, int)                         {}
func (*queue) Gemm(gpu.GemmArgs)                                              {}
func (*queue) Linear(gpu.LinearArgs)                                          {}
func (*queue) SpMM(gpu.Matrix, gpu.CSR, gpu.Matrix, float32)                  {}
func (*queue) Aggregate(gpu.AggregateArgs)                                    {}
func (*queue) Epilogue(gpu.Epilogue)                                          {}
func (*queue) EpilogueBackward(gpu.EpilogueGrad)                              {}
func (*queue) GATScores(gpu.Matrix, gpu.Matrix, gpu.Matrix, gpu.Vec, gpu.Vec) {}
func (*queue) GATAggregate(gpu.GATArgs)                                       {}
func (*queue) GATBackwardDst(gpu.GATGradDst)                                  {}
func (*queue) GATBackwardSrc(gpu.GATGradSrc)                                  {}
func (*queue) GATScoresBackward(gpu.GATScoresGrad)                            {}
func (*queue) Messages(gpu.MessageArgs)                                       {}
func (*queue) DotAggregate(gpu.DotArgs)                                       {}
func (*queue) DotBackwardDst(gpu.DotGradDst)                                  {}
func (*queue) DotBackwardSrc(gpu.DotGradSrc)                                  {}
func (*queue) GATv2Aggregate(gpu.GATv2Args)                                   {}
func (*queue) GATv2BackwardDst(gpu.GATv2GradDst)                              {}
func (*queue) GATv2BackwardSrc(gpu.GATv2GradSrc)                              {}
func (*queue) HeadMean(gpu.Matrix, gpu.Matrix, gpu.Vec)                       {}
func (*queue) HeadMeanBackward(gpu.Matrix, gpu.Matrix)                        {}
func (*queue) SoftmaxLoss(gpu.LossArgs)                                       {}
func (*queue) BCELoss(gpu.LossArgs)                                           {}
func (*queue) Adam(gpu.AdamArgs)                                              {}
func (*queue) SGD(gpu.Vec, gpu.Vec, float32, float32)                         {}
