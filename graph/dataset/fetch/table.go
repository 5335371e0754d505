package fetch

// planetoidURL is where Download finds Planetoid files unless Options says otherwise: the authors' repository at the
// commit that the checksums were taken from.
const planetoidURL = "https://raw.githubusercontent.com/kimiyoung/planetoid/af6abf468a772cc055bec88c52e4d6f51b7c37e3/data"

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

// Sources of sets that have one in common, for people.
const (
	benchmark = "https://github.com/shchur/gnn-benchmark (data/npz)"
	graphData = "https://github.com/EdisonLeeeee/GraphData (datasets), from shchur/gnn-benchmark"
	hetero    = "https://github.com/yandex-research/heterophilous-graphs (data)"
)

// table has all published sets with their files. Nothing changes it.
var table = []Published{
	planetoidSet("planetoid_cora", 2708, 10556, 1433, 7,
		known("ind.cora.allx", 257305, "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543"),
		known("ind.cora.ally", 47959, "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71"),
		known("ind.cora.graph", 59847, "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d"),
		known("ind.cora.test.index", 5000, "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875"),
		known("ind.cora.tx", 148025, "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a"),
		known("ind.cora.ty", 28135, "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad"),
		known("ind.cora.x", 22119, "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab"),
		known("ind.cora.y", 4054, "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1"),
	),
	planetoidSet("planetoid_citeseer", 3327, 9228, 3703, 6,
		known("ind.citeseer.allx", 595021, "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668"),
		known("ind.citeseer.ally", 55623, "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95"),
		known("ind.citeseer.graph", 61987, "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7"),
		known("ind.citeseer.test.index", 5000, "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4"),
		known("ind.citeseer.tx", 260321, "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21"),
		known("ind.citeseer.ty", 24135, "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce"),
		known("ind.citeseer.x", 31087, "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6"),
		known("ind.citeseer.y", 3014, "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924"),
	),
	planetoidSet("planetoid_pubmed", 19717, 88651, 500, 3,
		remoteFile{name: "ind.pubmed.allx", blob: "3b86bccf08111c37c632a9dd8ab63db25ea76361", limit: 64 << 20},
		known("ind.pubmed.ally", 224739, "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e"),
		known("ind.pubmed.graph", 471808, "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9"),
		known("ind.pubmed.test.index", 6000, "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5"),
		known("ind.pubmed.tx", 405505, "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d"),
		known("ind.pubmed.ty", 12135, "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd"),
		known("ind.pubmed.x", 23172, "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33"),
		known("ind.pubmed.y", 854, "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3"),
	),
	oneFile("cora_ml", 2995, 16316, 2879, 7, "gnn-benchmark", graphData, coraMLURL,
		known("cora_ml.npz", 1314958, "ba929b05dd5f08ab7974d8b42c31c0574422d353fc420e5417671a8356e3e755")),
	oneFile("corafull", 19793, 126842, 8710, 70, "gnn-benchmark", benchmark, benchmarkURL,
		remoteFile{name: "cora_full.npz", blob: "2478a176d63fe71090f4c21fe588bf5d381cad80", limit: 64 << 20}),
	oneFile("cora_npz", 2708, 10556, 1433, 7, "gnn-benchmark", benchmark, benchmarkURL,
		known("cora.npz", 540580, "068e22d90c3849b4057dfb05851741428992af058efcd4e7ebb4186f3d581de2")),
	oneFile("citeseer_npz", 3312, 9196, 3703, 6, "gnn-benchmark", benchmark, benchmarkURL,
		known("citeseer.npz", 1348784, "280278b21b434c047922e8389518861416fb3ad39389c27865ff0e6bbb0aaab7")),
	oneFile("amazon_photo", 7650, 238163, 745, 8, "gnn-benchmark", graphData, graphDataURL,
		known("amazon_photo.npz", 1769253, "f0552bc8bcdb103c25b07cf4619bd9458af435c0728dc8366e86ffb912018c25")),
	oneFile("amazon_computers", 13752, 491722, 767, 10, "gnn-benchmark", benchmark, benchmarkURL,
		remoteFile{name: "amazon_electronics_computers.npz", blob: "8120e4148a330b3fafe37c4476823302d9d834b9", limit: 256 << 20}),
	oneFile("coauthor_cs", 18333, 163788, 6805, 15, "gnn-benchmark", graphData, graphDataURL,
		known("coauthor_cs.npz", 2796277, "48e79e9e838aab635ca8fff852d25cb804c0d8ed79e5bae0f1a8f2d147b2188d")),
	oneFile("coauthor_physics", 34493, 495924, 8415, 5, "gnn-benchmark", graphData, graphDataURL,
		known("coauthor_phy.npz", 3767567, "121a85ee9fac9859693e649d3e9f3561e3a23a9aa4d8e8951e9e3eec8e9b52ef")),
	oneFile("tolokers", 11758, 1038000, 10, 2, "heterophilous", hetero, heteroURL,
		known("tolokers.npz", 1329769, "dacf3ac94cec53d03cd2adb5255c08b33dee1656c33ca8164a464bd9450a1667")),
	oneFile("minesweeper", 10000, 78804, 7, 2, "heterophilous", hetero, heteroURL,
		known("minesweeper.npz", 135045, "e664c8dacf1e8ac466c2c09ed4b237bd2c5541f47a6eae9c6092cb87f16412b3")),
	oneFile("squirrel_filtered", 2223, 93996, 2089, 5, "heterophilous", hetero, heteroURL,
		known("squirrel_filtered.npz", 208215, "f06370ffb3116c5de8b7a600005400b2293c025e0ce2f6916d8201a825505ac7")),
	oneFile("chameleon_filtered", 890, 17708, 2325, 5, "heterophilous", hetero, heteroURL,
		known("chameleon_filtered.npz", 58924, "bf46f07e1fb5249280447e5fe3100f3e82fc4b93ad1e13ffcfdec924b6ac0bb5")),
	oneFile("actor", 7600, 53318, 932, 5, "heterophilous", hetero, heteroURL,
		known("actor.npz", 252956, "c350eef06b2c2a9bf8218be2b57cac6d4003d0922eb597a039e9123f75817816")),
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
	oneFile("web_notredame", 325729, 1497134, 0, 0, "edge list", snapURL+"/web-NotreDame.html", snapURL,
		known("web-NotreDame.txt.gz", 3708538, "d4f4916db2b45060d4dde21fca2d6d757f245f4397528f72230eff3bb57e499e")),
	oneFile("soc_epinions1", 75888, 508837, 0, 0, "edge list", snapURL+"/soc-Epinions1.html", snapURL,
		known("soc-Epinions1.txt.gz", 1630437, "69a2dab71fa5e3a0715487599fc16ca17ddc847379325a6c765bbad6e3e36938")),
}
