package main

// knownSet is a published data set: what its publication says of it, and where it lies.
type knownSet struct {
	Name     string `json:"name"` // the name to give the folder
	Vertices int    `json:"vertices"`
	Edges    int64  `json:"edges"` // directed edges: both directions where the set is read as symmetric
	Features int    `json:"features"`
	Classes  int    `json:"classes"`
	Format   string `json:"format"`
	Source   string `json:"source"`
}

// Sources of several sets.
const (
	benchmarkURL = "https://github.com/shchur/gnn-benchmark (data/npz)"
	planetoidURL = "https://github.com/kimiyoung/planetoid (data/ind.*)"
	heteroURL    = "https://github.com/yandex-research/heterophilous-graphs (data)"
	saintURL     = "https://github.com/GraphSAINT/GraphSAINT (links to its data in the README, by hand)"
	ogbURL       = "https://snap.stanford.edu/ogb/data/nodeproppred/"
	snapURL      = "https://snap.stanford.edu/data/"
)

// knownSets are the published sets that the readers are written for. Sizes are the publications'; edges are the directed
// ones that the reader makes of them, but for ogbn_arxiv, whose citations are counted once.
var knownSets = []knownSet{
	{"planetoid_cora", 2708, 10556, 1433, 7, "planetoid", planetoidURL},
	{"planetoid_citeseer", 3327, 9104, 3703, 6, "planetoid", planetoidURL},
	{"cora_ml", 2995, 16316, 2879, 7, "gnn-benchmark", benchmarkURL},
	{"corafull", 19793, 126842, 8710, 70, "gnn-benchmark", benchmarkURL},
	{"amazon_photo", 7650, 238162, 745, 8, "gnn-benchmark", benchmarkURL},
	{"coauthor_cs", 18333, 163788, 6805, 15, "gnn-benchmark", benchmarkURL},
	{"coauthor_physics", 34493, 495924, 8415, 5, "gnn-benchmark", benchmarkURL},
	{"tolokers", 11758, 1038000, 10, 2, "heterophilous", heteroURL},
	{"minesweeper", 10000, 78804, 7, 2, "heterophilous", heteroURL},
	{"ppi", 14755, 450540, 50, 121, "graphsaint", saintURL},
	{"flickr", 89250, 899756, 500, 7, "graphsaint", saintURL},
	{"yelp", 716847, 13954819, 300, 100, "graphsaint", saintURL},
	{"amazon", 1569960, 264339468, 200, 107, "graphsaint", saintURL},
	{"reddit", 232965, 114615892, 602, 41, "DGL npz pair", "https://data.dgl.ai/dataset/reddit.zip"},
	{"ogbn_arxiv", 169343, 1166243, 128, 40, "OGB", ogbURL + "arxiv.zip"},
	{"ogbn_products", 2449029, 123718280, 100, 47, "OGB", ogbURL + "products.zip"},
	{"web_notredame", 325729, 1497134, 0, 0, "edge list", snapURL + "web-NotreDame.html"},
	{"soc_epinions1", 75888, 508837, 0, 0, "edge list", snapURL + "soc-Epinions1.html"},
}
