// Package datasets finds, reads and describes data sets on behalf of commands, and makes them ready for a run.
//
// Its nouns: an Input, graph, features, labels and splits made ready for one run; a Found data set, one that lies in a folder
// that is searched by name; an Info, what a data set holds; the Generated one, which needs no file.
//
// # Contract
//
// Read finds a data set by its name or path (Find), reads it as the settings say, and records in them where it lies, so that a
// run can be repeated. Prepare makes the problem of it and recalls its sums; whoever has an Input releases it. A data set
// that lacks what is wanted is refused with what to do, also where an unread file beside it seems to hold it. Folder and the
// formats that it tells go by names of files and arrays alone: nothing is read for a list.
//
// It is apart from package training because commands that train nothing (data, predict, bench) need it, too. It knows settings
// (runfolder) and neither devices nor parts. Begin with load.go; names are resolved in find.go.
//
//	in, err := datasets.Load(ctx, k, &cfg)
//	defer in.Release()
package datasets
