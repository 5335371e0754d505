package formats

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/datatest"
)

const (
	toyDGLMeta  = "dataset_name: toy\nedge_data:\n- file_name: edges.csv\nnode_data:\n- file_name: nodes.csv\n"
	toyDGLNodes = "node_id,label,train_mask,val_mask,test_mask,feat\n2,1,True,False,False,\"0.5, -1e-3\"\n0,0,False,True,False,\"1, 2\"\n1,2,0,0,1,\"[3, 4]\"\n"
	toyDGLEdges = "src_id,dst_id,feat\n2,0,\"1, 2\"\n1,2,\"3, 4\"\n2,0,\"5, 6\"\n"
)

// toyDGL is the files of a small folder of DGL's CSVDataset; "" takes one away.
func toyDGL(replaced map[string]string) map[string]string {
	files := map[string]string{metaFile: toyDGLMeta, "nodes.csv": toyDGLNodes, "edges.csv": toyDGLEdges}
	maps.Copy(files, replaced)
	maps.DeleteFunc(files, func(_, text string) bool { return text == "" })
	return files
}

func TestDGL(t *testing.T) {
	dir := datatest.PutText(t, toyDGL(map[string]string{"other.csv": "x", "labels.csv": "0\n"}))
	for _, path := range []string{dir, filepath.Join(dir, metaFile)} {
		d, err := Load(path, dataset.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if got := arcs(d); got != "1→2:1 2→0:1" || d.Format != "dgl-csv" || d.Name != filepath.Base(dir) && path == dir {
			t.Errorf("edges %s, %s %s", got, d.Format, d.Name)
		}
		if !slices.Equal(d.Features.Dense, []float32{1, 2, 3, 4, 0.5, -1e-3}) || d.Features.Cols != 2 {
			t.Errorf("features %v", d.Features)
		}
		if !slices.Equal(d.Labels, []int32{0, 2, 1}) || d.Classes != 3 || d.ClassNames != nil || d.IDs != nil || d.VertexNames != nil {
			t.Errorf("labels %v of %d, ids %v %v", d.Labels, d.Classes, d.IDs, d.VertexNames)
		}
		if !slices.Equal(d.Train, []bool{false, false, true}) || !slices.Equal(d.Val, []bool{true, false, false}) || !slices.Equal(d.Test, []bool{false, true, false}) {
			t.Errorf("masks %v %v %v", d.Train, d.Val, d.Test)
		}
		if !slices.Contains(d.Notes, "edges.csv: columns that are not used: feat") || !slices.Contains(d.Notes, noteMerged(1)) {
			t.Errorf("notes %q", d.Notes)
		}
		if !slices.Equal(d.Files, []string{"edges.csv", metaFile, "nodes.csv"}) || !slices.Equal(d.Unread, []dataset.Unread{{Name: "labels.csv", Looks: dataset.LooksLabels}, {Name: "other.csv", Looks: dataset.LooksData}}) {
			t.Errorf("files %v, unread %v", d.Files, d.Unread)
		}
	}
}

// Ids, labels, weights and names of columns as people have them.
func TestDGLVariants(t *testing.T) {
	meta := "separator: ';'\n" + strings.ReplaceAll(toyDGLMeta, "nodes.csv", "nodes.csv\n  node_id_field: name\n  ntype: user") + "version: 1.0.0\n"
	for name, c := range map[string]struct {
		files map[string]string
		opt   dataset.Options
		check func(d *dataset.Dataset) bool
	}{
		"bare": {map[string]string{"nodes.csv": "node_id\n0\n1\n2\n", "edges.csv": "src_id,dst_id\n0,2\n"}, dataset.Options{}, func(d *dataset.Dataset) bool {
			return arcs(d) == "0→2:1" && !d.Features.Present() && d.Labels == nil && d.Train == nil && d.Graph.Rows() == 3
		}},
		"numbers with gaps": {map[string]string{"nodes.csv": "node_id,label\n70,1\n5,nan\n900,-1\n", "edges.csv": "src_id,dst_id\n900,5\n70.0,900\n"}, dataset.Options{}, func(d *dataset.Dataset) bool {
			return arcs(d) == "1→2:1 2→0:1" && slices.Equal(d.IDs, []int64{5, 70, 900}) && slices.Equal(d.Labels, []int32{-1, 1, -1}) && d.Classes == 2
		}},
		"names": {map[string]string{metaFile: meta, "nodes.csv": "name;label\nzoe;red\n\"a;b\";blue\n7;red\n", "edges.csv": "dst_id;src_id\nzoe;7\n\"a;b\";zoe\n"}, dataset.Options{}, func(d *dataset.Dataset) bool {
			return arcs(d) == "0→2:1 2→1:1" && slices.Equal(d.VertexNames, []string{"7", "a;b", "zoe"}) && slices.Equal(d.Labels, []int32{1, 0, 1}) && slices.Equal(d.ClassNames, []string{"blue", "red"})
		}},
		"ids beyond float64": {map[string]string{"nodes.csv": "node_id\n9007199254740992\n9007199254740993\n", "edges.csv": "src_id,dst_id\n9007199254740993,9007199254740992\n"}, dataset.Options{}, func(d *dataset.Dataset) bool {
			return arcs(d) == "1→0:1" && slices.Equal(d.VertexNames, []string{"9007199254740992", "9007199254740993"})
		}},
		"weights": {map[string]string{"edges.csv": "src_id,weight,dst_id\n2,0.5,0\n1,2,2\n2,1,0\n"}, dataset.Options{}, func(d *dataset.Dataset) bool {
			return arcs(d) == "1→2:2 2→0:1.5" && slices.ContainsFunc(d.Notes, func(n string) bool { return strings.Contains(n, "the column weight is read as weights") })
		}},
		"weights ignored, symmetric": {map[string]string{"edges.csv": "src_id,weight,dst_id\n2,x,0\n"}, dataset.Options{IgnoreWeights: true, Edges: dataset.Symmetric}, func(d *dataset.Dataset) bool {
			return arcs(d) == "0→2:1 2→0:1"
		}},
		"several labels": {map[string]string{"nodes.csv": "node_id,label\n1,\"1, 0\"\n0,\"0,1\"\n2,\"(1,1)\"\n"}, dataset.Options{}, func(d *dataset.Dataset) bool {
			return slices.Equal(d.Targets, []uint8{0, 1, 1, 0, 1, 1}) && d.Classes == 2
		}},
		"one graph, one feature, byte order mark, gzip": {map[string]string{metaFile: strings.ReplaceAll(toyDGLMeta, "nodes.csv", "nodes.csv.gz"), "nodes.csv": "",
			"nodes.csv.gz": datatest.Gzip(t, "\ufeffnode_id,graph_id,feat\r\n2,0,7\r\n1,0,8\r\n0,0,9\r\n")}, dataset.Options{}, func(d *dataset.Dataset) bool {
			return slices.Equal(d.Features.Dense, []float32{9, 8, 7}) && !slices.ContainsFunc(d.Notes, func(n string) bool { return strings.Contains(n, "nodes.csv.gz: columns") })
		}},
	} {
		d, err := Load(datatest.PutText(t, toyDGL(c.files)), c.opt)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !c.check(d) {
			t.Errorf("%s: got edges %s of %+v", name, arcs(d), d)
		}
	}
}

// Labels that may be meant otherwise are noted, as those of other tables are.
func TestDGLDoubtfulLabels(t *testing.T) {
	for labels, want := range map[string]string{
		"red unknown -": `labels: class "unknown" looks like a missing value, of 1 vertices; leave the field empty where the class is not known`,
		"red blue -1":   `labels: class "-1" looks like a missing value, of 1 vertices; leave the field empty where the class is not known`,
		"Red red Ren":   `labels: classes "Red" and "red" differ in the case of letters only; if they mean the same, write one of them`,
		"A|B A B":       "labels: fields such as A|B are classes of their own; several classes of a vertex are columns of 0 and 1, which `capgnn data tables --label-sep '|'` makes",
		"red NaN None":  "vertices without a label: 2",
		"1 -1 -1.0":     "labels: all are -1 or 1, and -1 is read as no label (of 2 vertices); if it is a class, write 0 and 1",
		"0 -1 2":        `labels: no vertex has class "1"`,
		"blue red ":     `labels: 2 classes are numbered by their names: "blue", "red"`,
	} {
		nodes := "node_id,label\n"
		for v, label := range strings.Split(labels, " ") {
			nodes += fmt.Sprintf("%d,%s\n", v, label)
		}
		d, err := Load(datatest.PutText(t, toyDGL(map[string]string{"nodes.csv": nodes, "edges.csv": "src_id,dst_id\n0,2\n"})), dataset.Options{})
		if err != nil || !slices.Contains(d.Notes, want) {
			t.Errorf("%s: got %+v, %v", labels, d, err)
		}
	}
}

func TestDGLFaults(t *testing.T) {
	node := func(text string) map[string]string { return map[string]string{"nodes.csv": text} }
	edge := func(text string) map[string]string { return map[string]string{"edges.csv": text} }
	meta := func(text string) map[string]string { return map[string]string{metaFile: text} }
	for _, c := range []struct {
		files map[string]string
		want  string
	}{
		{meta("dataset_name: x\n"), "meta.yaml: want node_data and edge_data"},
		{meta("a: &a [x, x]\nb: [*a, *a]\n" + toyDGLMeta), "meta.yaml: has aliases (*NAME): write out what they stand for"},
		{meta("dataset_name: [\n"), "meta.yaml: [1:"},
		{meta("node_data: 7\n"), "meta.yaml: [1:"},
		{meta(strings.Repeat("[", 300)), "meta.yaml: is not what DGL's CSVDataset reads"},
		{meta(toyDGLMeta + "graph_data:\n  file_name: graphs.csv\n"), "has graph_data: data sets of several graphs are not read"},
		{meta(toyDGLMeta + "- file_name: items.csv\n  ntype: item\n"), "has 2 types of vertices and 1 of edges"},
		{meta(toyDGLMeta + "separator: ab\n"), `separator "ab": want one character`},
		{meta(strings.ReplaceAll(toyDGLMeta, "nodes.csv", "../nodes.csv")), `file_name "../nodes.csv": want the name of a file in this folder`},
		{meta(strings.ReplaceAll(toyDGLMeta, "nodes.csv", "absent.csv")), "absent.csv: no such file"},
		{node("id\n0\n"), `nodes.csv: line 1: has no column "node_id"; its columns are ["id"]`},
		{node(""), "nodes.csv: no such file"},
		{node("\n"), "nodes.csv: is empty"},
		{node("node_id\n"), "nodes.csv: lists no vertices"},
		{node("node_id,label\n0,\n1,\"1, 0\"\n2,\n"), `nodes.csv: line 3, character 3: column "label": found "1, 0", 0 or 1 for each class, where the first vertex has none of these: write them in every line`},
		{node("node_id\n0\n1\n0\n2\n"), `nodes.csv: line 4, character 1: column "node_id": vertex "0" is there twice`},
		{node("node_id,x\na,1\n,1\n"), `line 3, character 1: column "node_id": a vertex has no id`},
		{node("node_id,label\n0,1\n1\n"), "record on line 3: wrong number of fields"},
		{node("node_id,label\n0,a\xff\n"), `nodes.csv: line 2, character 3: "a\xff" is not one line of UTF-8 text`},
		{node("node_id,label\n0,\"a\nb\"\n"), `line 2, character 3: "a\nb" is not one line`},
		{node("node_id,label\n0,\"1\n"), `extraneous or missing " in quoted-field`},
		{node("node_id,label\n0,0\n1,0.5\n2,1\n"), `line 3, character 3: column "label": "0.5" is no class`},
		{node("node_id,label\n0,0\n1,-2\n2,1\n"), "column label: class -2 is outside [-1, 65536)"},
		{node("node_id,label\n0,\"0,1\"\n1,\"0\"\n2,1\n"), `line 3, character 3: column "label": has 1 value, those before it have 2`},
		{node("node_id,label\n0,\"0,1\"\n1,\"0,2\"\n"), `found "2", want 0 or 1 for each class`},
		{node("node_id,feat\n0,\"1,2\"\n1,\"1,2,3\"\n2,1\n"), `line 3, character 3: column "feat": has 3 values, those before it have 2`},
		{node("node_id,feat\n0,\"1,x\"\n1,1\n2,1\n"), `line 2, character 3: column "feat": found "x", want a finite number`},
		{node("node_id,feat\n0,\n1,1\n2,1\n"), `found "", want a finite number`},
		{node("node_id,feat\n0,1e40\n1,1\n2,1\n"), "value 1e40 does not fit float32"},
		{node("node_id,train_mask\n0,maybe\n"), `column "train_mask": found "maybe", want 0 or 1`},
		{node("node_id,graph_id\n0,0\n1,1\n"), `line 3, character 3: column "graph_id": found graphs "1" and "0"`},
		{edge("src,dst\n0,1\n"), `edges.csv: line 1: has no column "src_id"`},
		{edge("src_id,dst_id\n0,1\n0,3\n"), `edges.csv: line 3, character 3: column "dst_id": "3" is no node_id of nodes.csv`},
		{edge("src_id,dst_id,weight\n0,1,nan\n"), `column "weight": found "nan", want a finite number`},
	} {
		dir := datatest.PutText(t, toyDGL(c.files))
		_, err := Load(dir, dataset.Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), dir) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: got %v, want %q", c.files, err, c.want)
		}
	}
}

// A first line of many values, or many lines of few, cost what is there.
func TestDGLAllocation(t *testing.T) {
	var nodes strings.Builder
	nodes.WriteString("node_id,feat\n0,\"1" + strings.Repeat(",1", 100_000) + "\"\n")
	for v := 1; v < 100_000; v++ {
		fmt.Fprintf(&nodes, "%d,1\n", v)
	}
	dir := datatest.PutText(t, toyDGL(map[string]string{"nodes.csv": nodes.String()}))
	var err error
	if got := allocated(func() { _, err = Load(dir, dataset.Options{}) }); err == nil || !strings.Contains(err.Error(), "has 100001 values, more than each of 100000 lines can have") || got > 128<<20 {
		t.Errorf("%d bytes, %v", got, err)
	}
}

// FuzzDGL loads folders of any text: an error of one line with the folder, or a valid data set.
func FuzzDGL(f *testing.F) {
	f.Add(toyDGLMeta, toyDGLNodes, toyDGLEdges)
	f.Add("separator: ';'\n"+toyDGLMeta, "node_id;label\nzoe;red\nb;blue\n", "dst_id;src_id;weight\nzoe;b;2\n")
	f.Add("{edge_data: [{file_name: edges.csv}], node_data: [&a {file_name: nodes.csv}]}", "node_id,label\n1,\"1, 0\"\n0,\"0,1\"\n", "src_id,dst_id\n")
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, meta, nodes, edges string) {
		dir := filepath.Join(root, fmt.Sprint(os.Getpid()))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{metaFile: meta, "nodes.csv": nodes, "edges.csv": edges} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		d, err := Load(dir, dataset.Options{})
		if err != nil && strings.Contains(err.Error(), ": no such file or directory") {
			return
		}
		accepted(t, dir, d, err)
	})
}
