package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"
	"sync"
)

var (
	//go:embed page.html
	pageSource string
	//go:embed style.css
	styleSource string
	//go:embed chart.js
	scriptSource string
)

// templates are parsed when a report is written: that takes a tenth of a command's start.
var templates = sync.OnceValue(func() *template.Template { return template.Must(template.New("report").Parse(pageSource)) })

// section is a group of pictures under one heading.
type section struct {
	Title, Text string
	Charts      []*chart
	Flats       []*chart // in which nothing changes
	Bars        []*bars
	Matrices    []*matrix
	Strips      []*strip
	Histogram   *histogram
	Scatter     *scatter
	Timeline    *timeline
	Diagram     *diagram
	Facts       []Fact
	Table       *table
}

// table is numbers in rows, with a head for each column.
type table struct {
	ID, Note  string
	Columns   []string
	Rows      [][]string
	Rest      [][]string // rows that are folded away below
	Beside    bool       // it stands in the row of the pictures
	RestTitle string
}

// Pairs reports whether the pictures look better two in a row than three.
func (s section) Pairs() bool {
	n := len(s.Charts) + len(s.Bars) + len(s.Matrices) + len(s.Strips)
	if s.Histogram != nil {
		n++
	}
	return n < 3 || n == 4
}

// Fact is a name and what it is.
type Fact struct {
	Name, Text string
}

// card is a number that stands out.
type card struct {
	Name, Text, Note string
}

// sectionOf returns a section of what there is; ok is false where nothing is.
func sectionOf(title, text string, pictures ...any) (s section, ok bool) {
	s = section{Title: title, Text: text}
	for _, p := range pictures {
		switch p := p.(type) {
		case *chart:
			switch {
			case p == nil:
			case p.Flat:
				s.Flats = append(s.Flats, p)
			default:
				s.Charts = append(s.Charts, p)
			}
		case *bars:
			if p != nil {
				s.Bars = append(s.Bars, p)
			}
		case *matrix:
			if p != nil {
				s.Matrices = append(s.Matrices, p)
			}
		case *strip:
			if p != nil {
				s.Strips = append(s.Strips, p)
			}
		case *histogram:
			s.Histogram = p
		case *scatter:
			s.Scatter = p
		case *timeline:
			s.Timeline = p
		case *diagram:
			s.Diagram = p
		case []Fact:
			s.Facts = append(s.Facts, p...)
		case *table:
			s.Table = p
		}
	}
	return s, len(s.Charts)+len(s.Flats)+len(s.Bars)+len(s.Matrices)+len(s.Strips)+len(s.Facts) > 0 || s.Table != nil || s.Histogram != nil || s.Scatter != nil || s.Timeline != nil || s.Diagram != nil
}

// writePage writes a whole page around the template called body.
func writePage(w io.Writer, title, body string, data any) error {
	var inner bytes.Buffer
	if err := templates().ExecuteTemplate(&inner, body, data); err != nil {
		return fmt.Errorf("draw report: %w", err)
	}
	page := struct {
		Title  string
		Style  template.CSS
		Script template.JS
		Body   template.HTML
	}{title, template.CSS(styleSource), template.JS(scriptSource), template.HTML(inner.String())}
	if err := templates().ExecuteTemplate(w, "page", page); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}

// setting returns the value of a setting, "" where it is not known.
func (r *Run) setting(name string) string {
	for _, s := range r.Settings {
		if s.Name == name {
			return s.Value
		}
	}
	return ""
}

// title is what the page is called: the last piece of the run's path.
func (r *Run) title() string {
	name := strings.TrimRight(r.Name, "/\\")
	return name[strings.LastIndexAny(name, "/\\")+1:]
}

// metric returns the name of the score.
func (r *Run) metric() string {
	if r.Result != nil && r.Result.Metric != "" {
		name := r.Result.Metric
		if r.Result.Positive != "" {
			name += " of " + r.Result.Positive
		}
		if r.Result.Estimated {
			name += " (estimated)"
		}
		return name
	}
	return "score"
}

// devices returns the devices as the run names them.
func (r *Run) devices() string {
	if r.Result != nil {
		return strings.Join(r.Result.Devices, ", ")
	}
	return r.setting("devices")
}

// deviceOf returns the label of a part: its number and its device.
func (r *Run) deviceOf(part int) string {
	label := fmt.Sprintf("part %d", part)
	if r.Result != nil && len(r.Result.Devices) > 0 {
		return label + " · " + r.Result.Devices[part%len(r.Result.Devices)]
	}
	return label
}
