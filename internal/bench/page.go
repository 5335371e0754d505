package bench

import (
	_ "embed"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"strings"
	"sync"
)

// Fact is a name and what it is.
type Fact struct {
	Name, Text string
}

type pageSection struct {
	*Section
	Pictures []pagePicture
}

type pagePicture struct {
	Title string
	SVG   template.HTML
}

//go:embed page.html
var pageSource string

var pageTemplate = sync.OnceValue(func() *template.Template { return template.Must(template.New("page").Parse(pageSource)) })

// writePage writes one page without references to other files.
func writePage(dir, file, title string, about []Fact, sections []Section) error {
	page := struct {
		Title    string
		About    []Fact
		Sections []pageSection
	}{Title: title, About: about}
	for i := range sections {
		s := pageSection{Section: &sections[i]}
		for f := range sections[i].Figures {
			picture, err := os.ReadFile(filepath.Join(dir, sections[i].figure(f)+".svg"))
			if err != nil {
				return fmt.Errorf("page %s: %w", file, err)
			}
			_, body, found := strings.Cut(string(picture), "<svg")
			if !found {
				return fmt.Errorf("page %s: %s.svg is no picture", file, sections[i].figure(f))
			}
			s.Pictures = append(s.Pictures, pagePicture{sections[i].Figures[f].Title, template.HTML("<svg" + body)}) // our own drawing
		}
		page.Sections = append(page.Sections, s)
	}
	var out strings.Builder
	if err := pageTemplate().Execute(&out, page); err != nil {
		return fmt.Errorf("page %s: %w", file, err)
	}
	return writeText(filepath.Join(dir, file), out.String())
}
