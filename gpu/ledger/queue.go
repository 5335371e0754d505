package ledger

import "capgnn/gpu"

// queue does nothing, at once.
type queue struct{}

var (
	_ gpu.Queue      = queue{}
	_ gpu.PeerCopier = queue{}
)

// event has always fired.
type event struct{}

var fired = func() chan struct{} { c := make(chan struct{}); close(c); return c }()

func (event) Done() <-chan struct{} { return fired }

func (queue) Upload(gpu.Buffer, gpu.Bytes, []byte)   {}
func (queue) Download([]byte, gpu.Buffer, gpu.Bytes) {}
func (queue) UploadRows(gpu.Matrix, []byte, []int32) {}
func (queue) Call(string, func() error)              {}
func (queue) Fault() error                           { return nil }
func (queue) Record() gpu.Event                      { return event{} }
func (queue) Wait(gpu.Event)                         {}
func (queue) Sync() error                            { return nil }
func (queue) Usage() gpu.Usage                       { return gpu.Usage{} }
func (queue) CanCopyFrom(gpu.Device) bool            { return true }
func (queue) CopyFrom(_, _ gpu.Matrix)               {}

func (queue) Fill(gpu.Matrix, float32)                                       {}
func (queue) Copy(gpu.Matrix, gpu.Matrix)                                    {}
func (queue) Transpose(gpu.Matrix, gpu.Matrix)                               {}
func (queue) Axpby(gpu.Matrix, float32, gpu.Matrix, float32)                 {}
func (queue) ScaleRows(gpu.Matrix, gpu.Matrix, gpu.Vec)                      {}
func (queue) AddScaled(gpu.Matrix, gpu.Matrix, gpu.Vec)                      {}
func (queue) ColSum(gpu.Vec, gpu.Matrix, float32)                            {}
func (queue) Dot(gpu.Vec, gpu.Matrix, gpu.Matrix, float32)                   {}
func (queue) Gather(gpu.Matrix, gpu.Matrix, gpu.Ints)                        {}
func (queue) ScatterAdd(gpu.Matrix, gpu.Matrix, gpu.Ints)                    {}
func (queue) PackInt8(gpu.PackArgs)                                          {}
func (queue) UnpackInt8(gpu.Matrix, gpu.Matrix)                              {}
func (queue) Gemm(gpu.GemmArgs)                                              {}
func (queue) Linear(gpu.LinearArgs)                                          {}
func (queue) SpMM(gpu.Matrix, gpu.CSR, gpu.Matrix, float32)                  {}
func (queue) Aggregate(gpu.AggregateArgs)                                    {}
func (queue) Epilogue(gpu.Epilogue)                                          {}
func (queue) EpilogueBackward(gpu.EpilogueGrad)                              {}
func (queue) GATScores(gpu.Matrix, gpu.Matrix, gpu.Matrix, gpu.Vec, gpu.Vec) {}
func (queue) GATAggregate(gpu.GATArgs)                                       {}
func (queue) GATBackwardDst(gpu.GATGradDst)                                  {}
func (queue) GATBackwardSrc(gpu.GATGradSrc)                                  {}
func (queue) GATScoresBackward(gpu.GATScoresGrad)                            {}
func (queue) HeadMean(gpu.Matrix, gpu.Matrix, gpu.Vec)                       {}
func (queue) HeadMeanBackward(gpu.Matrix, gpu.Matrix)                        {}
func (queue) SoftmaxLoss(gpu.LossArgs)                                       {}
func (queue) BCELoss(gpu.LossArgs)                                           {}
func (queue) Adam(gpu.AdamArgs)                                              {}
func (queue) SGD(gpu.Vec, gpu.Vec, float32, float32)                         {}
