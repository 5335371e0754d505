package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"capgnn/cmd/capgnn/internal/datasets"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/graph/dataset/fetch"
	"capgnn/internal/regular"
)

// fetchRetries is how often in a row a broken connection is tried again with nothing gained: with waits from half a second
// on, each twice the one before, half a minute in all.
const fetchRetries = 6

func dataFetchCommand() *cli.Command {
	var names, byHand []string
	for _, s := range fetch.Known() {
		if s.Fetchable() {
			names = append(names, s.Name)
		} else {
			byHand = append(byHand, s.Name)
		}
	}
	return &cli.Command{
		Name: "fetch", UsageText: "capgnn data fetch planetoid_cora", Usage: "download a published data set, or say how to get it", ArgsUsage: "NAME",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "out", Usage: "write the data set into `ROOT`/NAME (default: the first folder of $CAPGNN_DATA, else $XDG_DATA_HOME/capgnn)"},
			&cli.StringFlag{Name: "url", Usage: "download from `BASE`, the http or https address of a mirror"},
		},
		Description: "Names: " + strings.Join(names, ", ") + "; by hand: " + strings.Join(byHand, ", ") +
			". An interrupted download continues where it stopped. Files are checked by size and checksum, if these are known.",
		Action: onePositional("NAME", dataFetchAction),
	}
}

// fetched is the result of `data fetch`.
type fetched struct {
	Name    string  `json:"name"`
	Path    string  `json:"path"`
	Bytes   int64   `json:"bytes"`   // of all files
	Seconds float64 `json:"seconds"` // since the command started
}

func dataFetchAction(c *cli.Context, name string) error {
	k := term.NewConsole(c)
	set, root, err := fetchTarget(c, name)
	if err != nil {
		return err
	}
	name = set.Name // which an alias is no more
	path := filepath.Join(root, name)
	ctx, stop := term.Interruptible(c.Context, k, "as soon as possible")
	defer stop()
	k.OnInterrupt("the downloaded part stays in " + path + ".part; fetch again to continue")
	start := time.Now()
	bar := &fetchBar{k: k, title: "download " + name}
	defer bar.end()
	_, err = fetch.Download(ctx, set.Name, root, fetch.Options{
		BaseURL: c.String("url"), Proxy: http.ProxyFromEnvironment, Retries: fetchRetries,
		Progress: bar.at, Note: func(text string) { k.Note("%s", text) },
	})
	bar.end()
	switch {
	case errors.Is(err, context.Canceled) && term.Exists(path+".part"):
		return &term.InterruptedError{Note: "the downloaded part stays in " + path + ".part; fetch again to continue"}
	case errors.Is(err, context.Canceled):
		return &term.InterruptedError{Note: "nothing was downloaded"}
	case err != nil:
		return datasets.WriteError(fmt.Errorf("data %w", err))
	}
	f := fetched{Name: name, Path: path, Bytes: datasets.SizeOfTree(path), Seconds: time.Since(start).Seconds()}
	if k.JSON {
		return json.NewEncoder(k.Out).Encode(f)
	}
	_, err = fmt.Fprintf(k.Out, "%s: %s in %s\n", f.Path, term.Size(f.Bytes), term.Duration(&f.Seconds))
	return err
}

// fetchTarget returns the data set to download and the folder it goes into, in which it does not lie yet.
func fetchTarget(c *cli.Context, name string) (fetch.Published, string, error) {
	set, err := fetch.Find(name)
	if err != nil {
		var names, all []string
		for _, s := range fetch.Known() {
			names, all = append(append(names, s.Name), s.Aliases()...), append(all, s.Name)
		}
		return set, "", term.Usagef("data fetch: no published data set %s: `capgnn data list` shows %s", term.Quoted(name, names), strings.Join(all, ", "))
	}
	root := c.String("out")
	if root == "" {
		roots := term.DataRoots()
		if len(roots) == 0 || roots[0] == "" {
			return set, "", term.Usagef("data fetch %s: there is no folder for data: give --out or set CAPGNN_DATA", name)
		}
		root = roots[0]
	}
	if info, err := os.Stat(root); err == nil && !info.IsDir() {
		return set, "", term.Usagef("data fetch %s: --out %s is no folder", name, root)
	}
	if err := regular.CheckPlace(root); err != nil {
		return set, "", term.Usagef("data fetch %s: --out: %w", name, err)
	}
	path := filepath.Join(root, set.Name)
	if _, err := os.Lstat(path); err == nil {
		return set, "", term.Usagef("data fetch %s: %s is there already; remove it or give another --out", name, path)
	}
	if !set.Fetchable() {
		return set, "", term.Usagef("data fetch %s: its publishers offer it by hand only: %s", name, set.ByHand(root))
	}
	if base := c.String("url"); c.IsSet("url") {
		if u, err := url.Parse(base); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return set, "", term.Usagef("--url %.200q: want an address such as https://host/folder", base)
		}
	}
	return set, root, nil
}

// fetchBar shows how far a download has come, how fast it is and how long it will take.
type fetchBar struct {
	k     *term.Console
	title string
	bar   *term.Progress
	first int64     // bytes that were there at the start
	start time.Time // of the download; zero before it
	shown time.Time // of the last line, where the size is not known
}

func (b *fetchBar) at(done, total int64) {
	if total > 0 {
		if b.bar == nil {
			b.bar = b.k.Begin(b.title, total, term.UnitBytes, term.LinePause)
		}
		b.bar.At(done, "")
		return
	}
	now := time.Now()
	if b.start.IsZero() || done < b.first {
		b.first, b.start, b.shown = done, now, now
	}
	if now.Sub(b.shown) >= 5*term.LinePause {
		b.shown = now
		where, rest := term.Pace(term.UnitBytes, done, 0, done-b.first, now.Sub(b.start))
		b.k.Note("%s: %s", b.title, term.Sentence(where, ", ", rest))
	}
}

func (b *fetchBar) end() {
	if b.bar != nil {
		b.bar.End()
		b.bar = nil
	}
}
