package formats

import (
	"archive/zip"
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/datatest"
	"capgnn/internal/npy"
)

// zipped returns a zip of empty files.
func zipped(t testing.TB, names ...string) string {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range names {
		if _, err := z.Create(name); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// What is known and not read is told by its content, whatever its name is, and the line says what makes of it what is read.
func TestForeign(t *testing.T) {
	const nx = `: in Python: capgnn.to_store(networkx.`
	const rest = `, "web")`
	graphml := `<?xml version="1.0"?>` + "\n<graphml><graph/></graphml>"
	for _, c := range []struct{ name, text, what, call string }{
		{"web.graphml", graphml, "a GraphML graph", nx + `read_graphml(PATH)` + rest},
		{"web.csv", graphml, "a GraphML graph", nx + `read_graphml(PATH)` + rest},
		{"web.npz", graphml, "a GraphML graph", nx + `read_graphml(PATH)` + rest},
		{"edges.csv", graphml, "a GraphML graph", nx + `read_graphml(PATH)`},
		{"web.gexf", "\ufeff<gexf>", "a GEXF graph", nx + `read_gexf(PATH)` + rest},
		{"web.gml", "graph [ node [ id 0 label \"a\" ] ]", "a GML graph", nx + `read_gml(PATH)` + rest},
		{"web.txt", "# c\nCreator \"x\"\nVersion 1\ngraph\n[\n node [ id 0 ]", "a GML graph", nx + `read_gml(PATH, label="id")` + rest},
		{"web.net", "% c\n*Vertices 3\n", "a Pajek graph", nx + `read_pajek(PATH)` + rest},
		{"web.net", "*Vertices 2\n1 \"a\"\n2 \"b\"\n*Arcs\n1 2\n*Edges\n2 1\n", "a Pajek graph", ": write its edges as lines `from,to`, those of *Edges in both directions ("},
		{"web.net", "*Vertices 2\n1 \"a\"\n2 \"b\"\n*Arcslist\n1 2\n", "a Pajek graph", ": write its edges as lines"},
		{"web.dot", "// c\n/* d\n */ strict digraph \"a b\" {", "a GraphViz graph", nx + `nx_agraph.read_dot(PATH)` + rest},
		{"web.gv", "graph{a--b}", "a GraphViz graph", "read_dot(PATH)"},
		{"web.json", `{"directed": true, "nodes": []}`, "a JSON graph", `d = json.load(open(PATH)); capgnn.to_store(networkx.node_link_graph(d, edges="links" if "links" in d else "edges")` + rest},
		{"web.txt", `[[0, 1], [1, 2]]`, "JSON", ": write its edges as lines"},
		{"web.graph", "% c\n3 2\n2\n1 3\n2\n", "a METIS graph", ": write edges `from,to` (line v: neighbours of v; lone vertices get lost)"},
		{"web.graph", "3 2 1\n2 5\n1 5 3 1\n2 1\n", "a METIS graph", "lines `from,to,weight`"},
		{"web.adjlist", "0 1 2\n1 2\n", "an adjacency list", `capgnn.to_store(networkx.read_adjlist(PATH, create_using=networkx.DiGraph), "web")`},
		{"web.txt", "nodedef>name VARCHAR,label VARCHAR\na,x\n", "a GDF graph", `: in Gephi export it as GraphML, then in Python: capgnn.to_store(networkx.read_graphml("NEW.graphml"), "NEW")`},
		{"web.sql", "-- MySQL dump\n/*!40101 SET x */;\nCREATE TABLE `a` (x int);\n", "an SQL dump", ": write each table of the database as CSV ("},
		{"web.csv", "\ufeffinsert into a values (1, 2);\r\n", "an SQL dump", "for `capgnn data tables`"},
		{"web.adj", "a,b,c\n", "an adjacency list", `read_adjlist(PATH, delimiter=",", create_using=networkx.DiGraph), "web")`},
		{"web.adjlist", "# GMT\n0 2\n1 {}\n2 {'weight': 3}\n1 0\n", "a multiline adjacency list", `networkx.read_multiline_adjlist(PATH, create_using=networkx.DiGraph), "web")`},
		{"web.txt", "z 0\r\na 1\r\nb {}\r\n", "a multiline adjacency list", nx + `read_multiline_adjlist(PATH, create`},
		{"web.csv", "a;1\nb b;{}\n", "a multiline adjacency list", nx + `read_multiline_adjlist(PATH, delimiter=";", create`},
		{"data.pt", zipped(t, "data/data.pkl", "data/data/0"), "a file of PyTorch", `: in Python: capgnn.to_store(torch.load(PATH, weights_only=False), "data")`},
		{"data.npz", zipped(t, "data/data.pkl"), "a file of PyTorch", "torch.load(PATH"},
		{"m.npz", zipped(t, "data.npy", "indices.npy", "indptr.npy", "shape.npy", "format.npy"), "a SciPy sparse matrix alone", `scipy.io.mmwrite("m.mtx", scipy.sparse.load_npz(PATH))`},
		{"m.npz", zipped(t, "data.npy", "shape.npy", "format.npy", "features.npy", "feat2.npy", "labels.npy", "train_mask.npy", "ids.npy", "other.npy", "x_IN.npy"), "a SciPy sparse matrix with more arrays",
			`z = numpy.load(PATH); capgnn.to_store({"adj_t": scipy.sparse.load_npz(PATH).T, "x": z["features"], "feat2": z["feat2"], "y": z["labels"], "train_mask": z["train_mask"], "ids": z["ids"]}, "m")`},
		{"data.pth", "\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19.", "a file of PyTorch", "torch.load(PATH"},
		{"data.bin", "\x3f\xa1\xb4\x46\xf0\x4f\x2e\xdd", "a graph of DGL", `capgnn.to_store(dgl.load_graphs(PATH)[0][0], "data")`},
		{"web.pkl", "\x80\x04\x95x\x8c\x18networkx.classes.digraph", "a Python pickle", nx[:len(nx)-len("networkx.")] + `pickle.load(open(PATH, "rb"))` + rest},
		{"web.pkl", "\x80\x05\x95x\x8c\x11scipy.sparse._csr", "a Python pickle", `scipy.io.mmwrite("web.mtx", pickle.load(open(PATH, "rb")))`},
		{"web.pkl", "\x80\x03}q\x00.", "a Python pickle", "shows what it holds"},
		{"web.parquet", "PAR1....", "a Parquet table", `pandas.read_parquet(PATH).to_csv("web.csv", index=False)`},
		{"web.csv", "PAR1....", "a Parquet table", `pandas.read_parquet(PATH).to_csv("web-edges.csv", index=False)`},
		{"web.feather", "ARROW1\x00\x00", "a Feather (Arrow) table", "read_feather(PATH)"},
		{"web.arrow", "\xff\xff\xff\xff", "an Arrow stream", "pyarrow.ipc.open_stream(PATH)"},
		{"web.mat", "MATLAB 5.0 MAT-file, Platform", "a MATLAB file", `scipy.io.mmwrite("web.mtx", scipy.io.loadmat(PATH)[`},
		{"web.h5", "\x89HDF\r\n\x1a\n", "an HDF5 file", "h5py.File(PATH)"},
		{"web.mat", "MATLAB 7.3 MAT-file", "an HDF5 file", "h5py.File(PATH)"},
		{"web.db", "SQLite format 3\x00", "an SQLite database", "sqlite3.connect(PATH)"},
		{"web.txt", "# 0\n1 2\n2 2\n3 4\n# 1\n2 1\n", "an LGL graph", `capgnn.to_store(igraph.Graph.Read_Lgl(PATH, directed=False).to_networkx(vertex_attr_hashable="name"), "web")`},
		{"web.lgl", "# 0\n1\n2\n", "an LGL graph", "Read_Lgl(PATH"},
		{"web.edges", "# a\r\nb 1.5\r\nc\r\n# b\r\nc 1\r\n# d\r\n", "an LGL graph", "Read_Lgl(PATH"},
		{"web.xlsx", zipped(t, "[Content_Types].xml", "xl/workbook.xml"), "an Excel sheet", "pandas.read_excel(PATH)"},
		{"web.xls", "\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an Excel sheet", "pandas.read_excel(PATH)"},
		{"web.ods", zipped(t, "mimetype", "content.xml"), "an OpenDocument sheet", "pandas.read_excel(PATH"},
		{"web.csv", zipped(t, "a.csv"), "a zip archive", ": unpack it"},
		{"web.csv", zipped(t, "a.npy"), "an archive of NumPy arrays", ": let its name end in .npz"},
		{"web.npy", "\x93NUMPY\x01\x00", "a NumPy array alone", `a = numpy.load(PATH); numpy.savetxt("web.edgelist", `},
		{"web.txt", "\xff\xfe0\x00", "text in UTF-16", `open("web.csv", "w", encoding="utf-8").write(open(PATH, encoding="utf-16").read())`},
		{"web.csv", "\xff\xfe0\x00", "text in UTF-16", `open("web-edges.csv", "w"`},
		{"web.edges", "\x01\x02\x00\x00\x0f" + strings.Repeat("\xf3\x07", 20), "a binary file of a kind that is not known", ": write its edges as lines"},
		{"web.csv.bz2", "BZh91AY", "a bzip2 archive", ": unpack it"},
		{"web.tgz", datatest.Gzip(t, strings.Repeat("\x00", 257)+"ustar\x00"), "a tar archive", ": unpack it"},
		{"web.csv", "<!DOCTYPE html>\n<html>", "a web page", ": download"},
		{"web.txt", "version https://git-lfs.github.com/spec/v1\noid", "a pointer of Git LFS", "git lfs pull"},
	} {
		path := filepath.Join(datatest.PutText(t, map[string]string{c.name: c.text}), c.name)
		for _, at := range []string{path, filepath.Dir(path)} {
			if at != path && c.name == "web.tgz" {
				continue // its ending is of no data
			}
			_, err := Load(at, dataset.Options{})
			want := path + ": is " + c.what + ", which is not read"
			if err == nil || !strings.HasPrefix(err.Error(), want) || !strings.Contains(err.Error(), strings.ReplaceAll(c.call, "PATH", `"`+path+`"`)) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s %.20q: got %v\nwant %s … %s", c.name, c.text, err, want, c.call)
			}
		}
		if strings.HasPrefix(c.text, "PK") || c.name == "web.tgz" {
			continue
		}
		packed := filepath.Join(t.TempDir(), "x.txt.gz")
		if err := os.WriteFile(packed, []byte(datatest.Gzip(t, c.text)), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(packed, dataset.Options{}); (err == nil || !strings.HasPrefix(err.Error(), packed+": is "+c.what)) && byEnd[filepath.Ext(c.name)].what != c.what {
			t.Errorf("%s in gzip: got %v", c.name, err)
		}
	}
}

// Edge lists are told by their endings, and are not taken for something else.
func TestEdgeListEndings(t *testing.T) {
	for name, text := range map[string]string{
		"web.edgelist": "0 1\n1 2\n", "web.edges": "% sym\n0 1\n1 2\n", "web.edg": "0,1\n1,2\n", "web.edge": "0\t1\n1\t2\n", "web.edges.gz": datatest.Gzip(t, "0 1\n1 2\n"), "web.ncol": "7 5,9 2\n5,9 a 1\n",
		"web.csv": "graph,node\n0,1\n1,2\n", "web.txt": "# <graphml>\n0 1\n1 2\n",
	} {
		dir := datatest.PutText(t, map[string]string{name: text})
		for _, path := range []string{dir, filepath.Join(dir, name)} {
			d, err := Load(path, dataset.Options{})
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if d.Graph.Rows() != 3 || d.Graph.Edges() != 2 || d.Format != formatEdges || path != dir && d.Name != "web" || path == dir && len(d.Files) != 1 {
				t.Errorf("%s: %d vertices, %d edges, %s, name %s, files %v", name, d.Graph.Rows(), d.Graph.Edges(), d.Format, d.Name, d.Files)
			}
		}
	}
}

// Edges below comments of one word are no LGL graph.
func TestCommentsOfEdges(t *testing.T) {
	for _, text := range []string{"# 3\n0 1\n1 2\n", "# train\n0 1\n# test\n1 2\n", "# 1\n# of friends\n0 1\n", "# 0\n1 2 1\n# 1\n2 1 1\n", "0 1\n# 0\n1 2\n# 1\n"} {
		if kind, found := kindOf([]byte(text), ".txt"); found {
			t.Errorf("%q: is %s", text, kind.what)
		}
	}
}

// Comments of published edge lists are none of edges; edges that may be the neighbours of one vertex in an LGL graph are noted.
func TestNotedComments(t *testing.T) {
	for text, want := range map[string]string{
		"# Nodes: 3 Edges: 2\n# FromNodeId\tToNodeId\n0\t1\n1\t2\n": "", "% sym unweighted\n% 2 3 3\n0 1 1\n1 2 1\n": "", "#from to\n0 1\n1 2\n# end of file\n": "",
		"# edges\n0 1\n1 2\n": "", "# 0\n1 2\n1 3\n": "", "# a\nb c\nc b\n": "",
		"# 0\n1 2\n2 2\n": "LGL", "# a\nb 0.5\nc 1\n": "LGL", "# a\nb 1\n# c\nd 2\n": "LGL", "0 1\n#0 2\n": "look like edges",
	} {
		d, err := Load(filepath.Join(datatest.PutText(t, map[string]string{"web.txt": text}), "web.txt"), dataset.Options{})
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		if notes := strings.Join(d.Notes, "\n"); !strings.Contains(notes, want) || want == "" && (strings.Contains(notes, "comment") || strings.Contains(notes, "LGL")) {
			t.Errorf("%q: notes %q, want %q", text, notes, want)
		}
	}
}

// A sparse matrix alone is no data set, but what it becomes is.
func TestForeignScipy(t *testing.T) {
	shape, format, data := npy.Entry{Key: "shape", Data: []int64{0, 0}}, npy.Entry{Key: "format", Data: []string{"csr"}}, npy.Entry{Key: "data", Data: []float32{}}
	row, col := npy.Entry{Key: "row", Data: []int32{}}, npy.Entry{Key: "col", Data: []int32{}}
	const load, entries = `scipy.io.mmwrite("d.mtx", scipy.sparse.load_npz(PATH))`, `a = numpy.load(PATH); scipy.io.mmwrite("d.mtx", scipy.sparse.coo_array((`
	for _, c := range []struct {
		want    string
		entries []npy.Entry
	}{
		{load, []npy.Entry{{Key: "indptr", Data: []int32{0}}, {Key: "indices", Data: []int32{}}, shape, format}},
		{load, []npy.Entry{row, col, data, shape, format}},
		{load, []npy.Entry{{Key: "offsets", Data: []int32{}}, data, shape, format}},
		{entries + `a["data"], (a["row"], a["col"])), a["shape"]))`, []npy.Entry{row, col, data, shape}},
		{entries + `numpy.ones(len(a["row"])), (a["row"], a["col"])), [max(map(max, (a["row"], a["col"]))) + 1] * 2))`, []npy.Entry{row, col}},
	} {
		path := datatest.NPZ(t, c.entries...)
		if _, err := Load(path, dataset.Options{}); err == nil || !strings.HasSuffix(err.Error(), strings.ReplaceAll(c.want, "PATH", `"`+path+`"`)) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// FuzzInspect looks at any bytes under any ending: one line, or nothing to say.
func FuzzInspect(f *testing.F) {
	for _, k := range byMagic {
		f.Add([]byte(k.magic), ".txt")
	}
	for _, s := range []string{"<?xml version=\"1.0\"?><graphml>", "Creator \"x\"\ngraph [ label", "/* */digraph {", "*Vertices 1", `{"nodes":[]}`, "% c\n3 2 1", "\x80\x04networkx", matrixBanner, "0 1\n"} {
		f.Add([]byte(s), ".graph")
		f.Add([]byte(datatest.Gzip(f, s)), ".gz")
	}
	f.Add([]byte(zipped(f, "a/data.pkl")), ".npz")
	root := f.TempDir()
	f.Fuzz(func(t *testing.T, b []byte, end string) {
		if strings.ContainsAny(end, "/\x00") || len(end) > 20 {
			return
		}
		path := filepath.Join(root, "x"+end)
		if err := os.WriteFile(path, b, 0o600); err != nil {
			return
		}
		defer os.Remove(path)
		format, err := inspect(path)
		if err != nil && (format != "" || !strings.HasPrefix(err.Error(), path+": is ")) {
			t.Fatalf("%q, %q", format, err)
		}
	})
}
