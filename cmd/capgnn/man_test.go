package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// manTag is a flag that has an entry, without the marks of roff.
var manTag = regexp.MustCompile(`(?m)^\.TP\n\\fB((?:\\-)+[^\\ ]+(?:\\-[^\\ ]+)*)\\fR`)

// The manual page has a section for each command, and in it an entry for each flag, in order, and for no other.
func TestManPageNamesAll(t *testing.T) {
	page := newSandbox(t).must("man")
	app := newApp(io.Discard, io.Discard)
	sections := map[string]string{}
	for part := range strings.SplitSeq(page, "\n.SH ") {
		title, body, _ := strings.Cut(part, "\n")
		sections[strings.Trim(title, `"`)] = body
	}
	check := func(section string, flags []cli.Flag) {
		body, ok := sections[section]
		if !ok {
			t.Errorf("the page has no section %q", section)
		}
		var got, want []string
		for _, m := range manTag.FindAllStringSubmatch(body, -1) {
			got = append(got, strings.ReplaceAll(m[1], `\-`, "-"))
		}
		for _, g := range flagGroups(flags) {
			for _, f := range g.flags {
				name, _, _ := strings.Cut(flagWords(f), " ")
				want = append(want, name)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("section %s has flags\n%v, want\n%v", section, got, want)
		}
	}
	check("OPTIONS", app.Flags)
	for _, cmd := range app.Commands {
		if _, ok := sections["capgnn "+cmd.Name]; !ok || !strings.Contains(sections["DESCRIPTION"], ".TP\n\\fB"+cmd.Name+"\\fR\n") {
			t.Errorf("the page has no %s", cmd.Name)
		}
	}
	everyCommand(func(words string, cmd *cli.Command) { check("capgnn "+words, cmd.Flags) })
}

// The exit codes are those of the guide.
func TestManPageExitCodes(t *testing.T) {
	guide, err := os.ReadFile("../../docs/guide/train.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(guide), "| exit code | meaning |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	link := regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
	for _, e := range exitCodes {
		row, rest, _ := strings.Cut(table, "\n")
		if want := fmt.Sprintf("| %d | %s |", e.code, e.meaning); link.ReplaceAllString(row, "$1") != want {
			t.Errorf("the guide has %q, the page %q", row, want)
		}
		table = rest
	}
	if table != "" {
		t.Errorf("the page lacks exit codes: %s", table)
	}
}

// Text stays text in roff.
func TestRoff(t *testing.T) {
	for text, want := range map[string]string{
		".5 of `--x`":    `\&.5 of \fB\-\-x\fR`,
		"'a' \\n":        `\(aqa\(aq \en`,
		"γ … 😀":          `\[u03B3] \[u2026] \[u1F600]`,
		"two\n.SH lines": `two .SH lines`,
		`say "~/x^2"`:    `say \(dq\(ti/x\(ha2\(dq`,
	} {
		if got := roff(text); got != want {
			t.Errorf("roff(%q) = %q, want %q", text, got, want)
		}
	}
}

// groff reads the page without a warning.
func TestManPageIsRoff(t *testing.T) {
	if _, err := exec.LookPath("groff"); err != nil {
		t.Skip("there is no groff on this machine to read the manual page")
	}
	cmd := exec.Command("groff", "-man", "-Tutf8", "-ww", "-rLL=78n", "-z")
	cmd.Stdin = strings.NewReader(manPage(newApp(io.Discard, io.Discard)))
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("groff: %v\n%s", err, out)
	}
}
