package bench

import (
	"fmt"
	"path/filepath"
	"strings"
)

// WriteReport writes report.md and report.html, one page without references to other files, of sections whose figures Write
// has drawn. about says where they come from.
func WriteReport(dir, title string, about []Fact, sections []Section) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n", title)
	for i := range sections {
		sections[i].markdown(&b)
	}
	if err := writeText(filepath.Join(dir, "report.md"), b.String()); err != nil {
		return err
	}
	return writePage(dir, "report.html", title, about, sections)
}

// WritePage writes NAME.html, the page of one section, whose figures Write has drawn.
func (s *Section) WritePage(dir string, about []Fact) error {
	return writePage(dir, s.Name+".html", s.Title, about, []Section{*s})
}
