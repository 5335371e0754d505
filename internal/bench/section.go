package bench

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"capgnn/internal/atomicfile"
)

// Section is what one experiment shows.
type Section struct {
	Name    string // of the experiment: files begin with it
	Title   string
	Text    []string // paragraphs: what was done, and how to read it
	Tables  []Table
	Figures []Figure
}

// Write writes NAME.md, NAME.csv and the figures NAME-N.svg into a folder.
func (s *Section) Write(dir string) error {
	for i := range s.Figures {
		if err := s.Figures[i].Write(filepath.Join(dir, s.figure(i)+".svg")); err != nil {
			return fmt.Errorf("figure %s: %w", s.figure(i), err)
		}
	}
	var b strings.Builder
	s.markdown(&b)
	table, err := csvOf(s.Tables)
	if err != nil {
		return fmt.Errorf("tables of %s: %w", s.Name, err)
	}
	for name, text := range map[string]string{s.Name + ".md": b.String(), s.Name + ".csv": table} {
		if err := writeText(filepath.Join(dir, name), text); err != nil {
			return err
		}
	}
	return nil
}

// Remove deletes what Write of an earlier version of the section has left behind: figures beyond its last.
func (s *Section) Remove(dir string) error {
	for i := len(s.Figures); ; i++ {
		if err := os.Remove(filepath.Join(dir, s.figure(i)+".svg")); os.IsNotExist(err) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// figure is the name of a figure's file without its end.
func (s *Section) figure(i int) string { return fmt.Sprintf("%s-%d", s.Name, i+1) }

func (s *Section) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "## %s\n\n", s.Title)
	for _, p := range s.Text {
		fmt.Fprintf(b, "%s\n\n", p)
	}
	for i := range s.Figures {
		fmt.Fprintf(b, "![%s](%s.svg)\n\n", s.Figures[i].Title, s.figure(i))
	}
	for i := range s.Tables {
		s.Tables[i].markdown(b)
	}
}

func writeText(path, text string) error {
	return atomicfile.Write(path, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
}
