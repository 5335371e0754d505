package minibatch

import (
	"math"
	"testing"

	"capgnn/gpu/host"
	"capgnn/graph"
	"capgnn/internal/learn"
	"capgnn/internal/named"
	"capgnn/minibatch/sample"
	"capgnn/pipeline"
)

// Scores behind a run, and predictions with its weights, are those of a pass over the whole graph.
func TestEvaluationIsExact(t *testing.T) {
	for _, kind := range kinds(t) {
		for _, k := range []task{{}, {directed: true, multi: true}, {sparse: true}} {
			p, m := k.make(t, kind)
			part := homes(p.Vertices(), 2)
			o := small(m, devices(t, 2, host.Spec{}), part)
			o.EvalEvery = 1
			r := trained(t, p, o)
			want, err := pipeline.Predict(t.Context(), p, pipeline.PredictOptions{Model: netOf(m), Weights: r.Weights, Devices: devices(t, 1, host.Spec{}), Part: make([]int32, p.Vertices())})
			if err != nil {
				t.Fatal(err)
			}
			got, err := pipeline.Predict(t.Context(), p, pipeline.PredictOptions{Model: netOf(m), Weights: r.Weights, Devices: o.Devices, Part: part, Chunks: true})
			if err != nil {
				t.Fatal(err)
			}
			var diff, norm float64
			for i, x := range got {
				diff, norm = diff+math.Pow(float64(x-want[i]), 2), norm+math.Pow(float64(want[i]), 2)
			}
			if !(math.Sqrt(diff) <= 1e-5*math.Sqrt(norm)) {
				t.Errorf("%s %+v: logits differ by %.2e of %.2e", kind, k, math.Sqrt(diff), math.Sqrt(norm))
			}
			ids := make([]graph.NodeID, p.Vertices())
			for v := range ids {
				ids[v] = graph.NodeID(v)
			}
			judge, err := learn.Of(nil, p)
			if err != nil {
				t.Fatal(err)
			}
			var e learn.Evidence
			judge.Count(&e, ids, want)
			all := learn.MetricsOf(judge, []learn.Evidence{e})
			for i, score := range []*float64{all.Train, all.Val, all.Test} {
				if is := []*float64{r.Last.Train, r.Last.Val, r.Last.Test}[i]; math.Abs(*is-*score) > 0.005 {
					t.Errorf("%s %+v: score %d is %v, want %v", kind, k, i, *is, *score)
				}
			}
			if r.BestEpoch < 0 || r.BestWeights == nil || r.EvalTime <= 0 {
				t.Errorf("%s: best epoch %d, %v in evaluations", kind, r.BestEpoch, r.EvalTime)
			}
		}
	}
}

// Without validation vertices the newest weights are the best.
func TestNoValidation(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	p.Val, p.Test = nil, nil
	o := small(m, devices(t, 1, host.Spec{}), nil)
	o.EvalEvery = 1
	if r := trained(t, p, o); r.BestEpoch != o.Epochs-1 || r.Last.Val != nil || r.Last.Train == nil {
		t.Errorf("best epoch %d, %+v", r.BestEpoch, r.Last)
	}
}

// Estimated scores say so and change no weight; those of samples that keep every neighbour are the exact ones.
func TestEstimates(t *testing.T) {
	for i, kind := range kinds(t) {
		p, m := task{sparse: i%3 == 1}.make(t, kind)
		part := homes(p.Vertices(), 2)
		run := func(fanout ...int) *Result {
			o := small(m, devices(t, 2, host.Spec{}), part)
			o.Epochs, o.Optimizer.LR, o.EvalFanout = 1, 0.001, fanout
			return trained(t, p, o)
		}
		exact, all, some := run(), run(sample.All, sample.All, sample.All), run(1, 1, sample.All)
		if exact.Last.Estimated || !all.Last.Estimated || !some.Best.Estimated {
			t.Errorf("%s: estimated: %t, %t, %t", kind, exact.Last.Estimated, all.Last.Estimated, some.Best.Estimated)
		}
		if all.WeightsSHA != exact.WeightsSHA || some.WeightsSHA != exact.WeightsSHA {
			t.Errorf("%s: other weights where scores are estimated", kind)
		}
		loss := func(r *Result) float64 { return *r.Last.ValLoss }
		if math.Abs(loss(all)-loss(exact)) > 1e-4*loss(exact) || loss(some) == loss(exact) {
			t.Errorf("%s: losses of validation %v, %v of all neighbours, %v of one each", kind, loss(exact), loss(all), loss(some))
		}
	}
}

// Fan-outs of evaluation are one for each layer; where features are summed once, the last one is all.
func TestEvalFanoutIsChecked(t *testing.T) {
	p, m := task{}.make(t, named.SAGE)
	for _, list := range [][]int{{2, 2}, {2, 2, 2}, {2, 0, sample.All}} {
		o := small(m, devices(t, 1, host.Spec{}), nil)
		if o.EvalFanout = list; o.Validate(p) == nil {
			t.Errorf("%v is taken", list)
		}
		_, gat := (task{}).make(t, named.GAT)
		if o.Model = netOf(gat); len(list) == 3 && list[1] > 0 && o.Validate(p) != nil {
			t.Errorf("%v is refused: %v", list, o.Validate(p))
		}
	}
}
