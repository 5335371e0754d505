package formats

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/klauspost/compress/zip"

	"capgnn/graph/dataset"
	"capgnn/graph/dataset/internal/fields"
	"capgnn/graph/dataset/internal/textfile"
	"capgnn/internal/npy"
	"capgnn/internal/regular"
)

// foreign is a kind of file that is known and not read, and what makes of it what is read. In the Python call IN stands for the
// file and OUT for the name of the data set.
type foreign struct {
	what string // with its article
	do   string // a Python call, or ": " and what to do
}

// tableOf is the call that writes a table of pandas as an edge list.
func tableOf(read string) string { return read + `.to_csv("OUT.csv", index=False)` }

// storeOf is the call that writes a graph of tensors or of networkx as a store, with all vertices, their names and
// the weights of edges.
func storeOf(read string) string { return `capgnn.to_store(` + read + `, "OUT")` }

// matrixOf is the call that writes a matrix of SciPy as what is read.
func matrixOf(read string) string { return `scipy.io.mmwrite("OUT.mtx", ` + read + `)` }

// entriesAlone is an archive of rows, columns and perhaps values and a shape of a matrix.
func entriesAlone(z *npy.Archive) foreign {
	values, shape := `numpy.ones(len(a["row"]))`, `[max(map(max, (a["row"], a["col"]))) + 1] * 2`
	if z.Has("data") {
		values = `a["data"]`
	}
	if z.Has("shape") {
		shape = `a["shape"]`
	}
	return foreign{"a sparse matrix by rows and columns", `a = numpy.load(IN); ` +
		matrixOf(`scipy.sparse.coo_array((`+values+`, (a["row"], a["col"])), `+shape+`)`)}
}

// scipyMatrix is a matrix of SciPy, perhaps with arrays of a data set beside it.
func scipyMatrix(z *npy.Archive) foreign {
	const load = `scipy.sparse.load_npz(IN)`
	more := ""
	for _, key := range z.Keys() {
		name := key
		if strings.Contains(key, "IN") || strings.Contains(key, "OUT") {
			continue // which the call has for the file
		}
		switch looksLike(key + ".npy") {
		case dataset.LooksFeatures:
			name = "x"
		case dataset.LooksLabels:
			name = "y"
		case dataset.LooksSplit:
		default:
			if key != "ids" {
				continue
			}
		}
		if strings.Contains(more, fmt.Sprintf(`, %q:`, name)) {
			name = key
		}
		more += fmt.Sprintf(`, %q: z[%q]`, name, key)
	}
	if more == "" {
		return foreign{"a SciPy sparse matrix alone", matrixOf(load)}
	}
	return foreign{"a SciPy sparse matrix with more arrays",
		`z = numpy.load(IN); ` + storeOf(`{"adj_t": `+load+`.T`+more+`}`)}
}

// What to do where no call does it.
const (
	unpack     = ": unpack it"
	writeLines = ": write its edges as lines `from,to`"
)

var torchFile = foreign{"a file of PyTorch", storeOf(`torch.load(IN, weights_only=False)`)}

// byMagic are kinds that their first bytes tell.
var byMagic = []struct {
	magic string
	foreign
}{
	{"PAR1", foreign{"a Parquet table", tableOf(`pandas.read_parquet(IN)`)}},
	{"ARROW1\x00\x00", foreign{"a Feather (Arrow) table", tableOf(`pandas.read_feather(IN)`)}},
	{"FEA1", foreign{"a Feather table", tableOf(`pandas.read_feather(IN)`)}},
	{"\xff\xff\xff\xff", foreign{"an Arrow stream", tableOf(`pyarrow.ipc.open_stream(IN).read_pandas()`)}},
	{"MATLAB 5.0 MAT-file", foreign{"a MATLAB file", matrixOf(`scipy.io.loadmat(IN)["NAME OF THE MATRIX"]`)}},
	{"MATLAB 7.3 MAT-file", hdf5},
	{"\x89HDF\r\n\x1a\n", hdf5},
	{"SQLite format 3\x00", foreign{"an SQLite database", tableOf(`pandas.read_sql("select * from EDGES", sqlite3.connect(IN))`)}},
	{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", foreign{"an Excel sheet", tableOf(`pandas.read_excel(IN)`)}},
	{"\x93NUMPY", foreign{"a NumPy array alone",
		`a = numpy.load(IN); numpy.savetxt("OUT.edgelist", a if a.shape[1] in (2, 3) else a.T, fmt="%.17g") (of a matrix scipy.io.mmwrite("OUT.mtx", scipy.sparse.coo_array(a)))`}},
	{"\x80\x02\x8a\nl\xfc\x9cF\xf9 j\xa8P\x19", torchFile}, // before PyTorch 1.6
	{"\x3f\xa1\xb4\x46\xf0\x4f\x2e\xdd", foreign{"a graph of DGL", storeOf(`dgl.load_graphs(IN)[0][0]`)}},
	{"BZh", foreign{"a bzip2 archive", unpack}},
	{"\xfd7zXZ\x00", foreign{"an xz archive", unpack}},
	{"\x28\xb5\x2f\xfd", foreign{"a zstd archive", unpack}},
	{"7z\xbc\xaf\x27\x1c", foreign{"a 7z archive", unpack}},
	{"Rar!\x1a\x07", foreign{"a RAR archive", unpack}},
	{"\xff\xfe", utf16},
	{"\xfe\xff", utf16},
	{"version https://git-lfs", foreign{"a pointer of Git LFS", ": `git lfs pull` puts the file in its place"}},
}

var (
	hdf5  = foreign{"an HDF5 file", `numpy.savetxt("OUT.edgelist", h5py.File(IN)["NAME OF THE EDGES"][:], fmt="%.17g")`}
	utf16 = foreign{"text in UTF-16", `open("OUT.csv", "w", encoding="utf-8").write(open(IN, encoding="utf-16").read())`}
)

// gml is what stands before the bracket of a GML graph.
const gml = `^((creator|version|comment|label|stamp)\s[^\n]*\n\s*)*graph\s*\[`

// byText are kinds that the beginning of their text tells, behind comments.
var byText = []struct {
	begins *regexp.Regexp
	foreign
}{
	{regexp.MustCompile(`(?is)^<(.*<)?graphml\b`), foreign{"a GraphML graph", storeOf(`networkx.read_graphml(IN)`)}},
	{regexp.MustCompile(`(?is)^<(.*<)?gexf\b`), foreign{"a GEXF graph", storeOf(`networkx.read_gexf(IN)`)}},
	{regexp.MustCompile(`(?i)^<(!doctype html|html)\b`), foreign{"a web page", ": download the file that the page offers"}},
	{regexp.MustCompile(`^<(\?xml|!--)`), foreign{"XML", writeLines}},
	{regexp.MustCompile(`(?is)` + gml + `.*\slabel\s`), foreign{"a GML graph", storeOf(`networkx.read_gml(IN)`)}},
	{regexp.MustCompile(`(?i)` + gml), foreign{"a GML graph", storeOf(`networkx.read_gml(IN, label="id")`)}},
	{regexp.MustCompile(`(?i)^(strict\s+)?(di)?graph\b\s*("[^"\n]*"|[\w.-]*)\s*\{`), foreign{"a GraphViz graph", storeOf(`networkx.nx_agraph.read_dot(IN)`)}},
	{regexp.MustCompile(`(?is)^\*.*\n\*(arcslist|edgeslist|arcs\b.*\n\*edges|edges\b.*\n\*arcs)\b`), foreign{"a Pajek graph",
		writeLines + ", those of *Edges in both directions (networkx mistakes lists, and arcs beside edges)"}},
	{regexp.MustCompile(`(?i)^\*(vertices|network|arcs|edges|matrix)\b`), foreign{"a Pajek graph",
		storeOf(`networkx.read_pajek(IN)`) + ` (which takes vertices of one label for one)`}},
	{regexp.MustCompile(`(?s)^\{.*"(nodes|links|directed|multigraph)"\s*:`), foreign{"a JSON graph",
		`d = json.load(open(IN)); ` + storeOf(`networkx.node_link_graph(d, edges="links" if "links" in d else "edges")`)}},
	{regexp.MustCompile(`^(\{|\[\s*[\[{"])`), foreign{"JSON", writeLines}},
	{fields.SQL, foreign{"an SQL dump", ": write each table of the database as CSV (mysql --batch, psql --csv, sqlite3 -csv), for `capgnn data tables`"}},
	{regexp.MustCompile(`(?i)^nodedef\s*>`), foreign{"a GDF graph",
		`: in Gephi export it as GraphML, then in Python: capgnn.to_store(networkx.read_graphml("NEW.graphml"), "NEW")`}},
	{regexp.MustCompile(`^(\S+[ \t,;|]0\r?\n)*\S+[ \t,;|][1-9][0-9]*\r?\n[^{\n]+[ \t,;|]\{.*\}`), multilineList},
}

// byEnd are kinds of text that only the ending of the name tells from an edge list.
var byEnd = map[string]foreign{
	".graph":   metis,
	".metis":   metis,
	".adj":     adjacencyList,
	".adjlist": adjacencyList,
	".lgl":     lgl,
}

var (
	metis         = foreign{"a METIS graph", ": write edges `from,to` (line v: neighbours of v; lone vertices get lost)"}
	adjacencyList = listOf("an adjacency list", "read_adjlist")
	multilineList = listOf("a multiline adjacency list", "read_multiline_adjlist")
)

// listOf is a kind of adjacency list, which a function of networkx reads.
func listOf(what, read string) foreign {
	return foreign{what, storeOf(`networkx.`+read+`(IN, create_using=networkx.DiGraph)`) + ` (networkx.Graph where an edge has no direction)`}
}

// between says what stands between the fields of an adjacency list whose first line this is, if that is no blank.
func (k foreign) between(first []byte) foreign {
	at := bytes.IndexAny(first, ",;|")
	if list := k.do == adjacencyList.do || k.do == multilineList.do; list && at >= 0 && !bytes.ContainsAny(first, " \t") {
		k.do = strings.Replace(k.do, "(IN", fmt.Sprintf("(IN, delimiter=%q", first[at:at+1]), 1)
	}
	return k
}

// headBytes of a file tell what it is.
const headBytes = 1 << 16

// inspect looks at the first bytes of a file that may be an archive of arrays, an edge list or a matrix. It returns formatMatrix for a
// MatrixMarket file, formatLGL for an edge list that may be an LGL graph, and an error for what is known and not read, whatever
// its name is. What it does not know, readers tell.
func inspect(path string) (format string, err error) {
	f, err := regular.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	head, inGzip := headOf(f, info.Size())
	if bytes.HasPrefix(head, []byte("PK\x03\x04")) && !inGzip {
		return "", inspectZip(path, f, info.Size())
	}
	if isMatrixMarket(head) {
		return formatMatrix, nil
	}
	kind, found := kindOf(head, filepath.Ext(strings.TrimSuffix(path, ".gz")))
	switch {
	case !found:
		if _, may := isLGL(head); may {
			format = formatLGL
		}
		return format, nil
	case inGzip && !strings.HasPrefix(kind.do, ": "):
		call := kind.cure(strings.TrimSuffix(path, ".gz"), ", then in Python: ")
		return "", fmt.Errorf("%s: is %s in gzip, which is not read: unpack it first%s", path, kind.what, call)
	}
	return "", kind.fault(path)
}

// headOf returns the first bytes of a file, of what is packed in it if it is gzip.
func headOf(f io.ReaderAt, size int64) (head []byte, inGzip bool) {
	start := make([]byte, 2)
	_, _ = f.ReadAt(start, 0) // what cannot be read tells nothing
	r, err := textfile.Unpacked("", io.NewSectionReader(f, 0, size), size)
	if err != nil {
		return nil, true
	}
	head, _ = io.ReadAll(io.LimitReader(r, headBytes))
	return head, bytes.Equal(start, []byte{0x1f, 0x8b})
}

// kindOf tells by its first bytes what a file is, or by the ending of its name if it is text.
func kindOf(head []byte, end string) (kind foreign, found bool) {
	for _, k := range byMagic {
		if bytes.HasPrefix(head, []byte(k.magic)) {
			return k.foreign, true
		}
	}
	if len(head) > 262 && string(head[257:262]) == "ustar" {
		return foreign{"a tar archive", unpack}, true
	}
	if len(head) > 2 && head[0] == 0x80 && head[1] >= 2 && head[1] <= 5 {
		return pickled(head), true
	}
	if is, _ := isLGL(head); is {
		return lgl, true
	}
	text := uncommented(head)
	first, _, _ := bytes.Cut(text, []byte("\n"))
	for _, k := range byText {
		if k.begins.Match(text) {
			return k.between(first), true
		}
	}
	if isBinary(head) && end != ".npz" { // whose reader says what is wrong
		return foreign{"a binary file of a kind that is not known", writeLines}, true
	}
	if kind, found = byEnd[end]; kind == metis && len(bytes.Fields(first)) > 2 {
		kind.do = ": write its edges as lines `from,to,weight`"
	}
	return kind.between(first), found && len(first) > 0 && first[0] > ' ' && first[0] < 0x7f
}

// lgl is what igraph writes for LGL: `# NAME` of a vertex, then a line of each neighbour, perhaps with a weight.
var lgl = foreign{"an LGL graph", storeOf(`igraph.Graph.Read_Lgl(IN, directed=False).to_networkx(vertex_attr_hashable="name")`) +
	" (of an edge list, delete the lines that begin with #)"}

// isLGL reports whether the first bytes of a file are an LGL graph: they begin with `# NAME`, and have several such lines and no other
// comments, whose names are all numbers or are also names of neighbours. Edges may have a comment above them, and sections.
// may says that they could be one: each neighbour is there once and has a number, which its name is if NAME is.
func isLGL(head []byte) (is, may bool) {
	lines := strings.Split(string(bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))), "\n")
	if len(head) == headBytes {
		lines = lines[:len(lines)-1] // which may be cut
	}
	var sources []string
	below, pairs := map[string]bool{}, map[[2]string]bool{}
	may = true
	for _, line := range lines {
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == "#" && len(words) == 2:
			sources = append(sources, words[1])
		case len(sources) == 0, len(words) > 2, strings.ContainsAny(words[0], "#%"):
			return false, false
		default:
			pair := [2]string{sources[len(sources)-1], words[0]}
			_, number := fields.Number(words[len(words)-1])
			may = may && len(words) == 2 && number && fields.Digits(words[0]) == fields.Digits(pair[0]) && !pairs[pair]
			below[words[0]], pairs[pair] = true, true
		}
	}
	numbers, named := true, false
	for _, source := range sources {
		numbers, named = numbers && fields.Digits(source), named || below[source]
	}
	return len(sources) > 1 && len(below) > 0 && (numbers || named), may && len(pairs) > 1
}

// isBinary reports whether one byte of thirty-two is a control character that text does not have. A single one is for the readers of
// text, who say where it is.
func isBinary(head []byte) bool {
	count := 0
	for _, b := range head {
		if b < '\t' || b > '\r' && b < ' ' {
			count++
		}
	}
	return len(head) >= 16 && 32*count > len(head)
}

// uncommented returns text from the first word on that is in no comment, of whatever language.
func uncommented(text []byte) []byte {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	for {
		text = bytes.TrimLeft(text, " \t\r\n")
		end := "\n"
		switch {
		case bytes.HasPrefix(text, []byte("/*")):
			end = "*/"
		case bytes.HasPrefix(text, []byte("#")), bytes.HasPrefix(text, []byte("%")), bytes.HasPrefix(text, []byte("//")):
		default:
			return text
		}
		var found bool
		if _, text, found = bytes.Cut(text, []byte(end)); !found {
			return nil
		}
	}
}

// pickled tells by the first class in a pickle what to do with it.
func pickled(head []byte) foreign {
	const load = `pickle.load(open(IN, "rb"))`
	for _, k := range []struct{ class, do string }{
		{"networkx", storeOf(load)}, {"torch_geometric", storeOf(load)}, {"scipy.sparse", matrixOf(load)}, {"pandas", tableOf(load)},
	} {
		if bytes.Contains(head, []byte(k.class)) {
			return foreign{"a Python pickle", k.do}
		}
	}
	return foreign{"a Python pickle", load + ` shows what it holds; of a graph with edge_index capgnn.to_store makes a store`}
}

// inspectZip refuses a zip that holds no NumPy arrays, or is not called .npz.
func inspectZip(path string, r io.ReaderAt, size int64) error {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil // whoever reads it says what is wrong
	}
	kind := foreign{"a zip archive", unpack}
	for _, f := range z.File {
		base := f.Name[strings.LastIndexByte(f.Name, '/')+1:]
		switch {
		case base == "data.pkl":
			return torchFile.fault(path)
		case strings.HasPrefix(f.Name, "xl/"):
			return foreign{"an Excel sheet", tableOf(`pandas.read_excel(IN)`)}.fault(path)
		case f.Name == "content.xml":
			return foreign{"an OpenDocument sheet", tableOf(`pandas.read_excel(IN, engine="odf")`)}.fault(path)
		case strings.HasSuffix(base, ".npy"):
			if filepath.Ext(path) == ".npz" {
				return nil
			}
			kind = foreign{"an archive of NumPy arrays", ": let its name end in .npz"}
		}
	}
	if len(z.File) == 0 && filepath.Ext(path) == ".npz" {
		return nil
	}
	return kind.fault(path)
}

// fault is the error that a file is of this kind.
func (k foreign) fault(path string) error {
	return fmt.Errorf("%s: is %s, which is not read%s", path, k.what, k.cure(path, ": in Python: "))
}

// cure says what to do with the file, behind python if it is a call.
func (k foreign) cure(path, python string) string {
	if strings.HasPrefix(k.do, ": ") {
		return k.do
	}
	end := filepath.Ext(path)
	name := strings.TrimSuffix(dataset.BaseName(path), end)
	if name+end == filepath.Base(path) && strings.Contains(k.do, `"OUT`+end+`"`) {
		name += "-edges" // what is written must not take the place of what is read
	}
	return python + strings.NewReplacer("IN", strconv.Quote(path), `"OUT`, `"`+strings.Trim(strconv.Quote(name), `"`)).Replace(k.do)
}
