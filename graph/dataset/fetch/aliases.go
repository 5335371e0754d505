package fetch

import "strings"

// aliases are other names of published sets, as PyTorch Geometric, DGL, OGB and papers have them, in the form of nameKey. Of
// several sets the first one that is there is meant: Planetoid's files have the split that most results are reported on.
var aliases = []struct {
	alias string
	sets  []string
	class bool // what nameKey leaves of a library's class, which is no name to type
}{
	{"cora", []string{"planetoid_cora", "cora_npz"}, false},
	{"citeseer", []string{"planetoid_citeseer", "citeseer_npz"}, false},
	{"pubmed", []string{"planetoid_pubmed"}, false},
	{"citationfullcora", []string{"corafull"}, true},
	{"citationfullcoraml", []string{"cora_ml"}, true},
	{"photo", []string{"amazon_photo"}, false},
	{"amazoncobuyphoto", []string{"amazon_photo"}, true},
	{"computers", []string{"amazon_computers"}, false},
	{"computer", []string{"amazon_computers"}, false},
	{"amazoncobuycomputer", []string{"amazon_computers"}, true},
	{"cs", []string{"coauthor_cs"}, false},
	{"physics", []string{"coauthor_physics"}, false},
	{"film", []string{"actor"}, false},
	{"amazonproducts", []string{"amazon"}, true},
	{"arxiv", []string{"ogbn_arxiv"}, false},
	{"products", []string{"ogbn_products"}, false},
	{"notredame", []string{"web_notredame"}, false},
	{"epinions", []string{"soc_epinions1"}, false},
}

// nameKey is what of a name tells data sets apart: letters and digits, in lower case, without the endings of DGL's classes.
// So ogbn-arxiv, ogbn_arxiv and OGBN-Arxiv are one name, and Cora, cora and CoraGraphDataset another.
func nameKey(name string) string {
	key := strings.NewReplacer("-", "", "_", "", ".", "", " ", "").Replace(strings.ToLower(name))
	for _, end := range []string{"dataset", "graph"} {
		if short := strings.TrimSuffix(key, end); short != "" {
			key = short
		}
	}
	return key
}

// Aliased returns the published sets that a name may stand for, the one that is meant first: that of this name, by nameKey,
// or those it is an alias of; nil if it is known as neither.
func Aliased(name string) []Published {
	key := nameKey(name)
	var out []Published
	known := Known()
	for _, p := range known {
		if nameKey(p.Name) == key {
			out = append(out, p)
		}
	}
	for _, a := range aliases {
		if a.alias != key {
			continue
		}
		for _, set := range a.sets {
			for _, p := range known {
				if p.Name == set {
					out = append(out, p)
				}
			}
		}
	}
	return out
}

// Aliases returns the short names of a published set; most have none.
func (p Published) Aliases() []string {
	var out []string
	for _, a := range aliases {
		for _, set := range a.sets {
			if set == p.Name && !a.class {
				out = append(out, a.alias)
			}
		}
	}
	return out
}
