package bench

import (
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"strings"
)

// WriteReport writes report.md and report.html, one page without references to other files, of sections whose figures Write
// has drawn.
func WriteReport(dir, title string, sections []Section) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", title)
	for i := range sections {
		sections[i].markdown(&b)
	}
	if err := writeText(filepath.Join(dir, "report.md"), b.String()); err != nil {
		return err
	}
	page := struct {
		Title    string
		Sections []pageSection
	}{Title: title}
	for i := range sections {
		s := pageSection{Section: &sections[i]}
		for f := range sections[i].Figures {
			picture, err := os.ReadFile(filepath.Join(dir, sections[i].figure(f)+".svg"))
			if err != nil {
				return fmt.Errorf("report: %w", err)
			}
			_, body, found := strings.Cut(string(picture), "<svg")
			if !found {
				return fmt.Errorf("report: %s.svg is no picture", sections[i].figure(f))
			}
			s.Pictures = append(s.Pictures, pagePicture{sections[i].Figures[f].Title, template.HTML("<svg" + body)}) // our own drawing
		}
		page.Sections = append(page.Sections, s)
	}
	var out strings.Builder
	if err := pageTemplate.Execute(&out, page); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return writeText(filepath.Join(dir, "report.html"), out.String())
}

type pageSection struct {
	*Section
	Pictures []pagePicture
}

type pagePicture struct {
	Title string
	SVG   template.HTML
}

var pageTemplate = template.Must(template.New("report").Parse(`<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>{{.Title}}</title>
<style>
:root { color-scheme: light dark; --line: #8884; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 75rem; margin: 0 auto; padding: 0 1rem 4rem; }
nav { columns: 16rem; } figure { margin: 1rem 0; } figcaption { font-style: italic; }
figure svg { width: 100%; height: auto; background: #fff; border-radius: 4px; }
.table { overflow-x: auto; } table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 90%; }
th, td { padding: .15rem .6rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
</style></head><body><h1>{{.Title}}</h1>
<nav>{{range .Sections}}<div><a href="#{{.Name}}">{{.Title}}</a></div>{{end}}</nav>
{{range .Sections}}<section id="{{.Name}}"><h2>{{.Title}}</h2>
{{range .Text}}<p>{{.}}</p>
{{end}}{{range .Pictures}}<figure><figcaption>{{.Title}}</figcaption>{{.SVG}}</figure>
{{end}}{{range .Tables}}{{if .Title}}<h3>{{.Title}}</h3>{{end}}<div class="table"><table><thead><tr>{{range .Columns}}<th>{{.}}</th>{{end}}</tr></thead>
<tbody>{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</tbody></table></div>{{if .Note}}<p>{{.Note}}</p>{{end}}
{{end}}</section>
{{end}}</body></html>
`))
