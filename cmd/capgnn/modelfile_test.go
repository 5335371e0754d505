package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/long"
	"capgnn/internal/npy"
)

// A model's file gives the bits of its name: full-batch and on samples, over parts, resumed from a folder that keeps the file, repeated from there, and predicted.
func TestModelFile(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	data := newStore()
	indices := slices.Clone(data["indices"].Data.([]int32))
	for v := 0; v < 60; v += 7 { // self-loops, of which models make what their definitions say
		indices[2*v] = int32(v)
	}
	data["indices"] = npy.Entry{Data: indices}
	data.write(s, "ok.npz")
	for i, name := range runfolder.Names(runfolder.Models) {
		if name != "sage" && !long.Nth(t, 3, i) {
			continue
		}
		said := []string{"--layers", "2"}
		if name != "sgc" {
			said = append(said, "--hidden", "8")
		}
		if name == "sage" {
			said = append(said, "--jk", "cat", "--drop-features")
		}
		if strings.HasPrefix(name, "gat") {
			said = append(said, "--attention-dropout", "0.3")
		}
		for k, how := range []string{"--devices cpu:0,cpu:0", "--batch-size 16", "--batch-size 16 --storage bf16"} {
			if k == 1 && i%2 != 0 || k == 2 && name != "sage" {
				continue
			}
			s.must(append([]string{"model", "show", name, "--in-channels", "6", "--out-channels", "2", "--out", "net.json"}, said...)...)
			common := append([]string{"--dataset", "ok.npz"}, strings.Fields(how)...)
			run := fmt.Sprint(name, k)
			want := s.train(append(append(common, "--epochs", "4", "--model", name), said...)...)
			if r := s.train(append(common, "--epochs", "3", "--model", "net.json", "--run-dir", run)...); r.Model != "net" {
				t.Errorf("%s: the result is of model %q", name, r.Model)
			}
			if err := os.Remove(s.path("net.json")); err != nil { // the run has its own
				t.Fatal(err)
			}
			if r := s.train("--resume", run, "--epochs", "4"); r.SHA256 != want.SHA256 {
				t.Errorf("%s %s: the file gives other weights than the name", name, how)
			}
			if r := s.train("--config", run+"/config.yaml", "--epochs", "4"); r.SHA256 != want.SHA256 {
				t.Errorf("%s %s: a run that is repeated has other weights", name, how)
			}
			s.must("predict", "--run", run, "--what", "logits", "--quiet")
			text, err := os.ReadFile(s.path(run + "/config.yaml"))
			if err != nil || strings.Contains(string(text), "hidden:") || strings.Contains(string(text), "\nlayers:") {
				t.Errorf("%v: settings beside a file say what the model is:\n%s", err, text)
			}
		}
	}
	s.must("model", "show", "gat", "--in-channels", "6", "--out-channels", "2", "--layers", "3", "--hidden", "8", "--out", "net.json")
	s.must("plan", "--dataset", "ok.npz", "--model", "net.json", "--devices", "sim:rtx3090,sim:rtx3090")
	s.must("launch", "-n", "2", "--", "train", "--dataset", "ok.npz", "--model", "net.json", "--epochs", "2", "--run-dir", "two", "--quiet")
	s.must("launch", "-n", "2", "--", "predict", "--run", "two", "--quiet")
}

// What cannot be is said in a line: settings that the file has, a file for other data, one that is not there, a run without its file or with another one.
func TestModelFileRefuses(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.must("model", "show", "gcn", "--in-channels", "6", "--out-channels", "2", "--out", "net.json")
	s.must("model", "show", "gcn", "--out", "wide.json")
	s.train("--dataset", "ok.npz", "--epochs", "2", "--model", "net.json", "--run-dir", "run")
	text, err := os.ReadFile(s.path("net.json"))
	if err != nil {
		t.Fatal(err)
	}
	s.put("strange.json", []byte(strings.Replace(string(text), `"sum_in", [`, `"max_in", [`, 1)))
	refuse := func(want string, args ...string) {
		t.Helper()
		s.fails(term.ExitUsage, []string{want}, args...)
	}
	refuse("/net.json: the file says what the model is: drop --hidden, or change the file", "train", "--dataset", "ok.npz", "--model", "net.json", "--hidden", "9")
	refuse("/wide.json: model reads 128 features, and the data set has 6; model has 40 outputs, and the data set 2 classes: write one for these data: `capgnn model show NAME --in-channels 6 --out-channels 2`", "train", "--dataset", "ok.npz", "--model", "wide.json", "--quiet")
	refuse(`"net.jsn" is not one of gcn, sage, gin, gat, gatv2, sgc, appnp, gcnii, mixhop, gprgnn, dirgnn, NAME.json`, "train", "--dataset", "ok.npz", "--model", "net.jsn")
	refuse("nowhere.json: no such file or directory: `capgnn model show NAME --out FILE.json` writes one", "train", "--dataset", "ok.npz", "--model", "nowhere.json")
	refuse("no such file or directory: `capgnn model show NAME --out FILE.json` writes one", "model", "check", "nowhere.json")
	refuse("(did you mean net.json?)", "train", "--dataset", "ok.npz", "--model", "nte.json")
	refuse("(did you mean ok.npz?)", "train", "--quiet", "--dataset", "ok.npz", "--init", "okk.npz")
	refuse("gcn is the name of a model: `capgnn model show gcn` prints it", "model", "check", "gcn")
	refuse(`/strange.json: node "`, "train", "--dataset", "ok.npz", "--model", "strange.json")
	refuse("drop --model", "train", "--resume", "run", "--model", "wide.json")
	refuse("drop --dropout", "train", "--resume", "run", "--dropout", "0.1")
	s.put("run/model.json", []byte(strings.Replace(string(text), `"p": 0.5`, `"p": 0.25`, 1)))
	refuse("run/model.json was changed: its SHA-256 is ", "train", "--resume", "run", "--epochs", "5")
	refuse("run/model.json was changed: its SHA-256 is ", "train", "--config", "run/config.yaml")
	refuse("run/model.json was changed: its SHA-256 is ", "predict", "--run", "run")
	s.put("run/model.json", []byte(strings.Replace(string(text), "\n", " ", 1))) // the same model
	s.must("predict", "--run", "run", "--quiet")
	s.put("net.json", []byte(strings.Replace(string(text), `"p": 0.5`, `"p": 0.25`, 1)))
	refuse("drop --model,", "train", "--resume", "run", "--model", "net.json")
	if err := os.Remove(s.path("run/model.json")); err != nil {
		t.Fatal(err)
	}
	refuse("run/model.json is not there: the run trains it", "train", "--resume", "run", "--epochs", "5")
	refuse("run/model.json is not there: the run trains it", "predict", "--run", "run")
}

// Sums over all vertices are refused beside what trains on some of them, with the node, its line and the flag.
func TestSumsOverAllRefused(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.must("model", "show", "gcn", "--layers", "2", "--in-channels", "6", "--out-channels", "2", "--out", "net.json")
	text, err := os.ReadFile(s.path("net.json"))
	if err != nil {
		t.Fatal(err)
	}
	for name, nodes := range map[string]string{
		"s":  `["s", "sum_all", ["layer_norm0"]], ["n", "const", [], {"what": "vertices"}], ["mean", "div", ["s", "n"]], ["o", "add", ["layer_norm0", "mean"]], `,
		"kv": `["n", "const", [], {"what": "vertices"}], ["kv", "product", ["layer_norm0", "layer_norm0"], {"spec": "na,nb->ab"}], ["m", "div", ["kv", "n"]], ["o", "product", ["layer_norm0", "m"], {"spec": "na,ab->nb"}], `,
	} {
		s.put("all.json", []byte(strings.NewReplacer(`["relu0", "relu", ["layer_norm0"]`, nodes+`["relu0", "relu", ["o"]`,
			`"logits": "add1"`, `"logits": "add1", "line": {"`+name+`": "net.py:7"}`).Replace(string(text))))
		s.must("plan", "--dataset", "ok.npz", "--model", "all.json", "--devices", "sim:rtx3090,sim:rtx3090", "--quiet")
		for flag, value := range map[string]string{"batch-size": "=8", "isolated": "=chunks=4"} {
			for _, command := range []string{"train", "plan"} {
				s.fails(term.ExitUsage, []string{"--" + flag + ": node \"" + name + "\" of all.json is of all vertices", ": drop --" + flag + ", or train a model without that node  (net.py:7)"},
					command, "--dataset", "ok.npz", "--model", "all.json", "--"+flag+value)
			}
		}
	}
}

// A plan of a model that compares rows of both ends of edges, for devices of their own and for machines, has nothing to
// say of encoded rows, which such a model refuses.
func TestPlanOfComparedRows(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	newStore().write(s, "ok.npz")
	s.put("gated.json", []byte(`{"capgnn_model": 1, "features": 6, "outputs": 2, "graphs": {"g": {}}, "tensors": {"w": [2, 6], "v": [2, 6]},
 "nodes": [["x", "input"], ["to", "linear", ["x", "w"]], ["from", "linear", ["x", "v"]],
  ["dst", "dst", ["to"], {"graph": "g"}], ["src", "src", ["from"], {"graph": "g"}], ["both", "add", ["dst", "src"]],
  ["gate", "sigmoid", ["both"]], ["message", "mul", ["gate", "src"]], ["sum", "sum_in", ["message"], {"graph": "g"}]], "logits": "sum"}`))
	for _, at := range [][]string{{"--devices", "sim:rtx3090,sim:rtx3090"}, {"--devices", "sim:rtx3090,sim:rtx3090", "--machines", "2,2,net=1Mbit/s"}} {
		args := append([]string{"plan", "--dataset", "ok.npz", "--model", "gated.json", "--quiet"}, at...)
		if out := s.must(args...); strings.Contains(out, "int8 rows pay") {
			t.Errorf("%v: %s", at, out)
		}
	}
}
