package fetch

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Published is a published data set: what its publication says of it, and where it lies.
type Published struct {
	Name     string `json:"name"` // also of the folder that Download makes
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

// Fetchable reports whether Download can get the set.
func (p Published) Fetchable() bool { return p.base != "" }

// ByHand says in one line what to get by hand and where to put it below root; "" if the set is Fetchable.
func (p Published) ByHand(root string) string {
	if p.Fetchable() {
		return ""
	}
	return fmt.Sprintf("download %s and put %s into %s", p.byHand, strings.Join(p.members, ", "), filepath.Join(root, p.Name))
}

// Known lists the published sets that the readers are written for, in a new slice. Sizes are the publications'; edges
// are the directed ones that the reader makes of them, but for ogbn_arxiv, whose citations are counted once.
func Known() []Published { return slices.Clone(table) }

// Find returns the published set of this name, or the first one that the name stands for (Aliased). The error lists the
// names.
func Find(name string) (Published, error) {
	var names []string
	for _, p := range Known() {
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

func planetoidSet(name string, vertices int, edges int64, features, classes int, files ...remoteFile) Published {
	return Published{
		Name: name, Vertices: vertices, Edges: edges, Features: features, Classes: classes, Format: "planetoid",
		Source: "https://github.com/kimiyoung/planetoid (data/ind.*)", base: planetoidURL, files: files,
	}
}

func oneFile(name string, vertices int, edges int64, features, classes int, format, source, base string, file remoteFile) Published {
	return Published{
		Name: name, Vertices: vertices, Edges: edges, Features: features, Classes: classes, Format: format,
		Source: source, base: base, files: []remoteFile{file},
	}
}

func saintSet(name string, vertices int, edges int64, features, classes int) Published {
	return Published{
		Name: name, Vertices: vertices, Edges: edges, Features: features, Classes: classes, Format: "graphsaint",
		Source:  "https://github.com/GraphSAINT/GraphSAINT (links to its data in the README, by hand)",
		byHand:  "the folder " + name + " of " + saintURL,
		members: []string{"adj_full.npz", "adj_train.npz", "feats.npy", "class_map.json", "role.json"},
	}
}

// fromZIP completes p: a set that is unpacked from a ZIP archive of at most limit bytes, whose publishers give no checksum.
func fromZIP(p Published, base, file string, limit int64, u unpacking) Published {
	p.Source, p.base, p.files, p.unpack = base+"/"+file, base, []remoteFile{{name: file, limit: limit}}, u
	return p
}

// remoteFile is a file with what it must be. Where the size is not known, a file above limit is refused; where neither
// checksum is known, an archive's own checksums have to do.
type remoteFile struct {
	name   string
	bytes  int64  // 0: not known
	sha256 string // "": not known
	blob   string // git's id of the file in the commit that its address names; "": not known
	limit  int64  // of bytes, where the size is not known
}

// known is a remoteFile of which everything is known.
func known(name string, bytes int64, sha256 string) remoteFile {
	return remoteFile{name: name, bytes: bytes, sha256: sha256}
}
