package datasets_test

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/progtest"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/long"
	"capgnn/internal/npy"
)

// Weights of shards that are spoilt, or that do not go with a model, are one line that names them, exit code 2, in full batch and on samples.
func TestWeightedShardsRefuse(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	shardData{vertices: 60, edges: 240, weighted: true, trained: 20}.write(s, "d.npz", 1)
	s.Must("partition", "--dataset", "d.npz", "--machines", "2", "--shards", "two", "--quiet")
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	// replace writes an array in place of one of the folder, as if it had been cut so.
	replace := func(dir, name string, data any) {
		path, head := dir+"/"+name, dir+"/common/shards.json"
		old, err := os.ReadFile(path)
		must(err)
		must(npy.WriteFile(path, nil, data))
		raw, err := os.ReadFile(path)
		must(err)
		text, err := os.ReadFile(head)
		must(err)
		describe := func(raw []byte) string {
			sum := sha256.Sum256(raw)
			return fmt.Sprintf(`%d,%s`, len(raw), hex.EncodeToString(sum[:]))
		}
		fields := func(d string) [2]string {
			bytes, sum, _ := strings.Cut(d, ",")
			return [2]string{bytes, sum}
		}
		was, is := fields(describe(old)), fields(describe(raw))
		i := strings.Index(string(text), was[1])
		if i < 0 {
			t.Fatalf("%s is not announced", name)
		}
		from := strings.LastIndex(string(text[:i]), was[0])
		must(os.WriteFile(head, []byte(string(text[:from])+is[0]+string(text[from+len(was[0]):i])+is[1]+string(text[i+64:])), 0o600))
	}
	weights := func(name string) []float32 {
		a, err := npy.Open(s.Path("two/" + name))
		must(err)
		w, err := a.Float32()
		must(err)
		return w
	}
	spoilt := func(name string, spoil func(w []float32)) []float32 {
		w := weights(name)
		spoil(w)
		return w
	}
	w := weights("common/in_weight.npy")
	for v := range w {
		w[v] = -1
	}
	nan := func(w []float32) { w[3] = float32(math.NaN()) }
	other := func(w []float32) { w[3] += 0.5 }
	const full, sampled = 1, 2
	type spoiling struct {
		spoil func(dir string)
		when  int
		want  string
		args  []string
	}
	all := []*spoiling{
		{func(dir string) { must(os.Truncate(dir+"/rank-1/weights.npy", 200)) }, full | sampled, "rank-1/weights.npy: has 200 bytes, ", nil},
		{func(dir string) { replace(dir, "rank-1/weights.npy", spoilt("rank-1/weights.npy", nan)) }, full | sampled, "has the weight NaN; weights must be finite", nil},
		{func(dir string) { replace(dir, "rank-1/out_weights.npy", weights("rank-1/out_weights.npy")[1:]) }, full, "rank-1/out_weights.npy: has shape [", nil},
		{func(string) {}, full | sampled, "--model gat: the model does not take edge weights; the edges of the data set have weights: cut it with --ignore-weights, which leaves them out", []string{"--model", "gat"}},
		{func(dir string) { must(os.Truncate(dir+"/rank-1/out_weights.npy", 200)) }, full, "rank-1/out_weights.npy: has 200 bytes, ", nil},
		{func(dir string) { must(os.Truncate(dir+"/graph/weights.npy", 200)) }, sampled, "graph/weights.npy: has 200 bytes, ", nil},
		{func(dir string) { must(os.Remove(dir + "/rank-0/weights.npy")) }, full, "rank-0/weights.npy: no such file", nil},
		{func(dir string) { must(os.Remove(dir + "/common/in_weight.npy")) }, full, "common/in_weight.npy: no such file", nil},
		{func(dir string) { replace(dir, "rank-1/weights.npy", weights("rank-1/weights.npy")[1:]) }, full, "rank-1/weights.npy: has shape [", nil},
		{func(dir string) { replace(dir, "rank-0/out_weights.npy", spoilt("rank-0/out_weights.npy", nan)) }, full, "has the weight NaN; weights must be finite", nil},
		{func(dir string) { replace(dir, "graph/weights.npy", spoilt("graph/weights.npy", nan)) }, sampled, "has the weight NaN; weights must be finite", nil},
		{func(dir string) { replace(dir, "common/loop_weight.npy", spoilt("common/loop_weight.npy", nan)) }, full | sampled, "which cannot be", nil},
		{func(dir string) { replace(dir, "rank-1/weights.npy", spoilt("rank-1/weights.npy", other)) }, full, "its edges weigh other than the tables of all parts say", nil},
		{func(dir string) { replace(dir, "rank-1/out_weights.npy", spoilt("rank-1/out_weights.npy", other)) }, full, "its edges weigh other than the tables of all parts say", nil},
		{func(dir string) { replace(dir, "graph/weights.npy", spoilt("graph/weights.npy", other)) }, sampled, "edges weigh other than the tables say", nil},
		{func(dir string) { replace(dir, "common/in_weight.npy", w) }, full | sampled, "--model gcn: the model divides by the root of the sum of the weights into a vertex, which is ", nil},
		{func(string) {}, full, "--ignore-weights: the edges of the shards have weights: cut them with `capgnn partition --ignore-weights`", []string{"--ignore-weights"}},
	}
	for k, tc := range long.Few(t, all, 1, all[:4]...) {
		name := fmt.Sprint("spoilt", k)
		must(os.CopyFS(s.Path(name), os.DirFS(s.Path("two"))))
		tc.spoil(s.Path(name))
		args := append([]string{"train", "--quiet", "--hidden", "4", "--epochs", "1", "--devices", progtest.CPUs(2), "--run-dir", "never", "--dataset", name}, tc.args...)
		if tc.when&full != 0 {
			s.Fails(term.ExitUsage, []string{tc.want}, args...)
		}
		if tc.when&sampled != 0 {
			s.Fails(term.ExitUsage, []string{tc.want}, append(args, "--batch-size", "8")...)
		}
	}
}
