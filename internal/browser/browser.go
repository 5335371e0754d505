package browser

import (
	"bytes"
	"context"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// programs are the names under which Chromium is looked for.
var programs = []string{"chromium", "google-chrome", "chrome", "chromium-browser"}

// patience bounds the loading of a page.
const patience = 60 * time.Second

// Browser is a Chromium on this machine.
type Browser struct{ path string }

// View is how a page is looked at.
type View struct {
	Width int // CSS pixels
	Dark  bool
}

// Seen is what came of a page.
type Seen struct {
	DOM     string   // the document after its scripts, "" where it never loaded
	Console []string // what they wrote to the console
}

// Find returns the browser of this machine; without one the test is skipped.
func Find(t testing.TB) Browser {
	t.Helper()
	for _, name := range programs {
		if path, err := exec.LookPath(name); err == nil {
			return Browser{path}
		}
	}
	t.Skip("there is no Chromium on this machine to open pages in")
	return Browser{}
}

var consoleLine = regexp.MustCompile(`(?m)^.*:CONSOLE[:(].*$`)

// frame holds a page at a width that windows, which have a least one, may not have. It writes down what the page says of itself.
const frame = `<!DOCTYPE html><meta charset="utf-8"><style>:root { color-scheme: light dark } body { margin: 0 }</style>
<iframe src="page.html" style="width: %dpx; height: 900px; border: 0"></iframe><pre id="seen"></pre>
<script>addEventListener("message", (e) => { document.getElementById("seen").textContent = e.data; })</script>`

// say makes a page say what it has become.
const say = `<script>addEventListener("load", () => parent.postMessage(document.documentElement.outerHTML, "*"))</script></body>`

var seenPattern = regexp.MustCompile(`(?s)<pre id="seen">(.*)</pre>`)

// Open loads a page, which has a </body>.
func (b Browser) Open(t testing.TB, page string, v View) Seen {
	t.Helper()
	dir := t.TempDir()
	outer := filepath.Join(dir, "frame.html")
	for name, text := range map[string]string{outer: fmt.Sprintf(frame, v.Width), filepath.Join(dir, "page.html"): strings.Replace(page, "</body>", say, 1)} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	scheme := 1
	if v.Dark {
		scheme = 0
	}
	cmd := exec.CommandContext(ctx, b.path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
		"--enable-logging=stderr", "--user-data-dir="+filepath.Join(dir, "profile"), "--virtual-time-budget=2000",
		fmt.Sprintf("--blink-settings=preferredColorScheme=%d", scheme), fmt.Sprintf("--window-size=%d,1000", v.Width+100), "--dump-dom", "file://"+outer)
	cmd.WaitDelay = time.Second
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("open a page in %s: %v\n%s", b.path, err, log.Bytes())
	}
	seen := Seen{Console: consoleLine.FindAllString(log.String(), -1)}
	if m := seenPattern.FindStringSubmatch(out.String()); m != nil {
		seen.DOM = html.UnescapeString(m[1])
	}
	return seen
}
