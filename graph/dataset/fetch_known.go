package dataset

import (
	"fmt"
	"path/filepath"
	"strings"
)

// PlanetoidURL is where Fetch finds Planetoid files unless FetchOptions says otherwise: the authors' repository at the
// commit that the checksums were taken from.
const PlanetoidURL = "https://raw.githubusercontent.com/kimiyoung/planetoid/af6abf468a772cc055bec88c52e4d6f51b7c37e3/data"

// Addresses of the other sets' files. Those of repositories name a commit, so that what they give does not change.
const (
	benchmarkURL = "https://raw.githubusercontent.com/shchur/gnn-benchmark/1e72912a0810cdf27ae54fd589a3b43358a2b161/data/npz"
	graphDataURL = "https://raw.githubusercontent.com/EdisonLeeeee/GraphData/d0e580f71c774f6802b1e0db1b7c8b6a1122e423/datasets"
	coraMLURL    = "https://raw.githubusercontent.com/EdisonLeeeee/GraphData/bca97c989769b58ae98b3e068fae5f804caf6db8/datasets"
	heteroURL    = "https://raw.githubusercontent.com/yandex-research/heterophilous-graphs/a431395582e929d88271309716bea4fe24ce6318/data"
	ogbURL       = "https://snap.stanford.edu/ogb/data/nodeproppred"
	dglURL       = "https://data.dgl.ai/dataset"
	snapURL      = "https://snap.stanford.edu/data"
	saintURL     = "https://drive.google.com/drive/folders/1zycmmDES39zVlbVCYs88JTJ1Wm5FbfLz"
)

// Published is a published data set: what its publication says of it, and where it lies.
type Published struct {
	Name     string `json:"name"` // also of the folder that Fetch makes
	Vertices int    `json:"vertices"`
	Edges    int64  `json:"edges"` // directed edges: both directions where the set is read as symmetric
	Features int    `json:"features"`
	Classes  int    `json:"classes"`
	Format   string `json:"format"`
	Source   string `json:"source"` // for people

	base    string       // address of the folder of the files; "": there is none, the files are got by hand
	files   []remoteFile // to download
	unpack  unpacking    // what is in the one file, if that is a ZIP archive
	byHand  string       // what to get by hand
	members []string     // the files that are got by hand
}

// unpacking says what a ZIP archive is to hold.
type unpacking struct {
	limit int64    // largest number of bytes of all members; 0: the file is no archive to be unpacked
	needs []string // members that must be there, without the folder that holds all
}

// Fetchable reports whether Fetch can download the set.
func (p Published) Fetchable() bool { return p.base != "" }

// ByHand says in one line what to get by hand and where to put it below root; "" if the set is Fetchable.
func (p Published) ByHand(root string) string {
	if p.Fetchable() {
		return ""
	}
	return fmt.Sprintf("download %s and put %s into %s", p.byHand, strings.Join(p.members, ", "), filepath.Join(root, p.Name))
}

// KnownSets lists the published sets that the readers are written for, in a new slice. Sizes are the publications'; edges
// are the directed ones that the reader makes of them, but for ogbn_arxiv, whose citations are counted once.
func KnownSets() []Published {
	const (
		benchmark = "https://github.com/shchur/gnn-benchmark (data/npz)"
		graphData = "https://github.com/EdisonLeeeee/GraphData (datasets), from shchur/gnn-benchmark"
		hetero    = "https://github.com/yandex-research/heterophilous-graphs (data)"
	)
	return []Published{
		planetoidSet("planetoid_cora", 2708, 10556, 1433, 7),
		planetoidSet("planetoid_citeseer", 3327, 9228, 3703, 6),
		planetoidSet("planetoid_pubmed", 19717, 88651, 500, 3),
		oneFile("cora_ml", 2995, 16316, 2879, 7, "gnn-benchmark", graphData, coraMLURL),
		oneFile("corafull", 19793, 126842, 8710, 70, "gnn-benchmark", benchmark, benchmarkURL),
		oneFile("cora_npz", 2708, 10556, 1433, 7, "gnn-benchmark", benchmark, benchmarkURL),
		oneFile("citeseer_npz", 3312, 9196, 3703, 6, "gnn-benchmark", benchmark, benchmarkURL),
		oneFile("amazon_photo", 7650, 238163, 745, 8, "gnn-benchmark", graphData, graphDataURL),
		oneFile("amazon_computers", 13752, 491722, 767, 10, "gnn-benchmark", benchmark, benchmarkURL),
		oneFile("coauthor_cs", 18333, 163788, 6805, 15, "gnn-benchmark", graphData, graphDataURL),
		oneFile("coauthor_physics", 34493, 495924, 8415, 5, "gnn-benchmark", graphData, graphDataURL),
		oneFile("tolokers", 11758, 1038000, 10, 2, "heterophilous", hetero, heteroURL),
		oneFile("minesweeper", 10000, 78804, 7, 2, "heterophilous", hetero, heteroURL),
		oneFile("squirrel_filtered", 2223, 93996, 2089, 5, "heterophilous", hetero, heteroURL),
		oneFile("chameleon_filtered", 890, 17708, 2325, 5, "heterophilous", hetero, heteroURL),
		oneFile("actor", 7600, 53318, 932, 5, "heterophilous", hetero, heteroURL),
		saintSet("ppi", 14755, 450540, 50, 121),
		saintSet("flickr", 89250, 899756, 500, 7),
		saintSet("yelp", 716847, 13954819, 300, 100),
		saintSet("amazon", 1569960, 264339468, 200, 107),
		fromZIP(Published{Name: "reddit", Vertices: 232965, Edges: 114615892, Features: 602, Classes: 41, Format: "DGL npz pair"},
			dglURL, "reddit.zip", 4<<30, unpacking{8 << 30, []string{"reddit_data.npz", "reddit_graph.npz"}}),
		fromZIP(Published{Name: "ogbn_arxiv", Vertices: 169343, Edges: 1166243, Features: 128, Classes: 40, Format: "OGB"},
			ogbURL, "arxiv.zip", 512<<20, unpacking{2 << 30, []string{"raw/edge.csv.gz", "raw/num-node-list.csv.gz", "split"}}),
		fromZIP(Published{Name: "ogbn_products", Vertices: 2449029, Edges: 123718280, Features: 100, Classes: 47, Format: "OGB"},
			ogbURL, "products.zip", 4<<30, unpacking{8 << 30, []string{"raw/edge.csv.gz", "raw/num-node-list.csv.gz", "split"}}),
		oneFile("web_notredame", 325729, 1497134, 0, 0, "edge list", snapURL+"/web-NotreDame.html", snapURL),
		oneFile("soc_epinions1", 75888, 508837, 0, 0, "edge list", snapURL+"/soc-Epinions1.html", snapURL),
	}
}

// FindKnown returns the published set of this name, or the first one that the name stands for (Aliased). The error lists the
// names.
func FindKnown(name string) (Published, error) {
	var names []string
	for _, p := range KnownSets() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	if meant := Aliased(name); meant != nil {
		return meant[0], nil
	}
	return Published{}, fmt.Errorf("data set %q is not known; known are %s", name, strings.Join(names, ", "))
}

func planetoidSet(name string, vertices int, edges int64, features, classes int) Published {
	return Published{
		Name: name, Vertices: vertices, Edges: edges, Features: features, Classes: classes, Format: "planetoid",
		Source: "https://github.com/kimiyoung/planetoid (data/ind.*)", base: PlanetoidURL, files: planetoidFiles[strings.TrimPrefix(name, "planetoid_")],
	}
}

func oneFile(name string, vertices int, edges int64, features, classes int, format, source, base string) Published {
	return Published{
		Name: name, Vertices: vertices, Edges: edges, Features: features, Classes: classes, Format: format,
		Source: source, base: base, files: []remoteFile{archiveFiles[name]},
	}
}

func saintSet(name string, vertices int, edges int64, features, classes int) Published {
	return Published{
		Name: name, Vertices: vertices, Edges: edges, Features: features, Classes: classes, Format: "graphsaint",
		Source:  "https://github.com/GraphSAINT/GraphSAINT (links to its data in the README, by hand)",
		byHand:  "the folder " + name + " of " + saintURL,
		members: saintFiles,
	}
}

// fromZIP completes p: a set that is unpacked from a ZIP archive of at most limit bytes, whose publishers give no checksum.
func fromZIP(p Published, base, file string, limit int64, u unpacking) Published {
	p.Source, p.base, p.files, p.unpack = base+"/"+file, base, []remoteFile{{name: file, limit: limit}}, u
	return p
}
