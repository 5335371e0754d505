package main

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"capgnn/cmd/capgnn/internal/term"
	"capgnn/report"
)

const (
	tableWidth = 80 // columns that every terminal has
	longCell   = 14 // letters of a longer text than stands beside those of other runs
)

// printRuns writes what runs differ in, runs beside each other by number, as many as a line of a terminal holds, and
// then what they have in common. Names of runs, data sets and devices are whole, and stand there once.
func printRuns(w io.Writer, runs []report.Run) {
	common, heading, rows := report.Compare(runs)
	label := 0
	for _, name := range heading {
		label = max(label, len(name)+2)
	}
	for _, f := range common {
		label = max(label, len(f.Name)+2)
	}
	cellsOf := func(i int) (cells []string, long bool) {
		for _, row := range rows {
			cells = append(cells, term.Escaped(row[i])) // files of runs may be anybody's
			long = long || utf8.RuneCountInString(row[i]) > longCell
		}
		return cells, long
	}
	var long []int
	beside := make([][]string, len(rows)) // by run
	names := []string{""}
	for r := range rows {
		beside[r] = []string{strconv.Itoa(r + 1)}
	}
	for i := 1; i < len(heading); i++ {
		cells, isLong := cellsOf(i)
		if isLong {
			long = append(long, i)
			continue
		}
		names = append(names, heading[i])
		for r := range rows {
			beside[r] = append(beside[r], cells[r])
		}
	}
	cells, _ := cellsOf(0)
	printOnce(w, heading[0], label, cells)
	for len(beside) > 0 && len(names) > 1 {
		n, room := 0, tableWidth-label
		for ; n < len(beside) && (n == 0 || room >= widest(beside[n])); n++ {
			room -= widest(beside[n]) + 2
		}
		for i, name := range names {
			line := padded(name, label)
			for _, cells := range beside[:n] {
				line += padded(cells[i], widest(cells)+2)
			}
			fmt.Fprintln(w, strings.TrimRight(line, " "))
		}
		beside = beside[n:]
	}
	for _, i := range long {
		cells, _ := cellsOf(i)
		printOnce(w, heading[i], label, cells)
	}
	for _, f := range common {
		fmt.Fprintf(w, "%s%s in all\n", padded(f.Name, label), term.Escaped(f.Text))
	}
}

// printOnce writes each text once, behind the numbers of its runs: 1, 3-5.
func printOnce(w io.Writer, name string, label int, cells []string) {
	var texts, numbers []string
	for r := 0; r < len(cells); r++ {
		k := slices.Index(texts, cells[r])
		if k < 0 {
			k, texts, numbers = len(texts), append(texts, cells[r]), append(numbers, "")
		} else {
			numbers[k] += ", "
		}
		from := r
		for r+1 < len(cells) && cells[r+1] == cells[r] {
			r++
		}
		if numbers[k] += strconv.Itoa(from + 1); r > from {
			numbers[k] += "-" + strconv.Itoa(r+1)
		}
	}
	for k, text := range texts {
		fmt.Fprintf(w, "%s%s%s\n", padded(name, label), padded(numbers[k], widest(numbers)+2), text)
		name = ""
	}
}

// widest returns the letters of the longest text.
func widest(texts []string) int {
	n := 0
	for _, t := range texts {
		n = max(n, utf8.RuneCountInString(t))
	}
	return n
}

func padded(text string, n int) string {
	return text + strings.Repeat(" ", max(0, n-utf8.RuneCountInString(text)))
}
