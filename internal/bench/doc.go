// Package bench keeps the results of experiments and makes tables, figures and reports of them.
//
// Nouns: a Journal holds Lines, one for each cell of an experiment; a Section is what an experiment shows: Tables and Figures.
//
// Contract: a line that Append has accepted survives a crash, and the next Open finds it, so that an interrupted experiment
// goes on where it was. Tables, figures and reports are functions of lines alone, without clock or map order: the same lines
// give the same files, to the byte. A Journal belongs to one goroutine and one process at a time. Nothing here measures,
// prints or knows what the numbers mean.
//
// It realises no section of the paper; the experiments of its figures 4 to 6 and 14 to 22 and tables 1, 7 and 8 use it
// (cmd/capgnn/internal/experiments).
//
//	j, err := bench.Open("out/cells.jsonl")
//	id := bench.Cell{"dataset": "ppi", "parts": "4"}
//	if j.Find(id) == nil {
//		err = j.Append(&bench.Line{Cell: id, Values: map[string]float64{"epoch_s": 0.012}})
//	}
//	s := bench.Section{Name: "halo", Title: "Halo rows", Tables: []bench.Table{t}, Figures: []bench.Figure{f}}
//	err = s.Write("out")
//	err = s.WritePage("out", []bench.Fact{{"command", "capgnn bench halo"}})
//	err = bench.WriteReport("out", "capgnn bench all", nil, []bench.Section{s})
package bench
