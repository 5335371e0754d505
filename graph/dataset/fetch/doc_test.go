package fetch

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write docs/formats/fetch.md anew")

// fetchDoc lists every file that data fetch downloads, with what it must be.
func fetchDoc() string {
	var b strings.Builder
	b.WriteString("# What `data fetch` downloads\n\n" +
		"Written by `go test ./graph/dataset/fetch -run TestFetchDoc -update` from graph/dataset/fetch/table.go. A downloaded file\n" +
		"is refused if its size or its SHA-256 differs from this table. Where only the publishers' git commit is known, the\n" +
		"git blob id is compared instead. Where no checksum is known, the size is bounded and the archive's own checksums are verified.\n\n" +
		"| data set | address | bytes | SHA-256, or git blob id |\n|---|---|---|---|\n")
	for _, p := range Known() {
		for _, f := range p.files {
			size, sum := fmt.Sprint(f.bytes), "`"+f.sha256+"`"
			if f.bytes == 0 {
				size = fmt.Sprintf("at most %d", f.limit)
			}
			switch {
			case f.sha256 == "" && f.blob == "":
				sum = "not known"
			case f.sha256 == "":
				sum = "git `" + f.blob + "`"
			}
			fmt.Fprintf(&b, "| %s | %s/%s | %s | %s |\n", p.Name, p.base, f.name, size, sum)
		}
	}
	b.WriteString("\n| data set | source |\n|---|---|\n")
	for _, p := range Known() {
		fmt.Fprintf(&b, "| %s | %s |\n", p.Name, p.Source)
	}
	return b.String()
}

// The list in the documents is that of the program.
func TestFetchDoc(t *testing.T) {
	const path = "../../../docs/formats/fetch.md"
	want := fetchDoc()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != want {
		t.Errorf("%s is not what the tables say (%v): run this test with -update", path, err)
	}
}
