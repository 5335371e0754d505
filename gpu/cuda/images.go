//go:build cuda

package cuda

import (
	"embed"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strings"
	"sync"
)

//go:generate kernels/generate.sh

//go:embed kernels/*.ptx
var ptx embed.FS

// image is one family of kernels as the driver loads it.
type image struct{ name, text string }

// images returns the families, in the order of their names.
func images() []image {
	names, err := fs.Glob(ptx, "kernels/*.ptx")
	if err != nil || len(names) == 0 {
		panic(fmt.Sprintf("cuda: no kernels embedded: %v", err)) // the pattern is ours, and building without a match fails
	}
	var list []image
	for _, name := range names {
		text, err := ptx.ReadFile(name)
		if err != nil {
			panic(err) // it was listed
		}
		list = append(list, image{strings.TrimSuffix(path.Base(name), ".ptx"), string(text)})
	}
	return list
}

// entry is the line of PTX that begins a kernel.
var entry = regexp.MustCompile(`(?m)^\.visible \.entry (\w+)\(`)

// families says by the symbol of a kernel which of images it is in.
var families = sync.OnceValue(func() map[string]int {
	of := map[string]int{}
	for i, image := range images() {
		for _, found := range entry.FindAllStringSubmatch(image.text, -1) {
			of[found[1]] = i
		}
	}
	return of
})
