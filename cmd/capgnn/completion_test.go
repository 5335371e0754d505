package main

import (
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"capgnn/cmd/capgnn/internal/runfolder"
	"capgnn/cmd/capgnn/internal/term"
	"capgnn/internal/shell"
)

// completedBy returns how each shell is asked for completions of the words of a command line, the last of them as far as it is typed.
// The script of the shell is in $SCRIPT.
var completedBy = map[string]func(words []string) (program string, args []string){
	"bash": func(words []string) (string, []string) {
		return "bash", append([]string{"--norc", "-c",
			`source "$SCRIPT"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _capgnn; printf '%s\n' "${COMPREPLY[@]}"`, "bash"}, words...)
	},
	"fish": func(words []string) (string, []string) {
		return "fish", []string{"--no-config", "-c", `source $SCRIPT; complete -C ` + shell.Quoted(strings.Join(words, " ")) + ` | string replace -r '\t.*' ''; true`}
	},
	"zsh": func(words []string) (string, []string) {
		return "zsh", []string{"-f", "-c", zshDriver, "zsh", strings.Join(words, " ")}
	},
}

// zshDriver types $1 and Tab into a zsh on a terminal of its own, and prints what that one shows until it has been silent for a second.
const zshDriver = `
zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'PS1= RPS1=; autoload -Uz compinit; compinit -u -D; source $SCRIPT; LISTMAX=1000; unsetopt beep; print -r -- rea""dy'
zpty -r z line '*ready*'
zpty -w -n z "$1"$'\t'
silent=0
while ((silent < 5)); do
	sleep 0.2
	((silent++))
	while zpty -rt z line; do print -rn -- "$line"; silent=0; done
done
zpty -d z
`

// escapes move the cursor or set colours.
var escapes = regexp.MustCompile("\x1b\\[[0-9;?]*[A-Za-z]|\x08")

var completionCases = map[string][]string{
	"capgnn tr":                   {"train"},
	"capgnn data im":              {"import"},
	"capgnn train --model g":      {"gat", "gatv2", "gcn", "gcnii", "gin", "gprgnn"},
	"capgnn train --storage b":    {"bf16"},
	"capgnn train --cache j":      {"jaca"},
	"capgnn train --staleness l":  {"layers="},
	"capgnn train --sampling pu":  {"pull="},
	"capgnn train --check":        {"--checkpoint-every"},
	"capgnn predict --what emb":   {"embeddings"},
	"capgnn data synth red":       {"reddit-like"},
	"capgnn data fetch ogbn_":     {"ogbn_arxiv", "ogbn_products"},
	"capgnn data import --compac": {"--compact"},
	"capgnn completion f":         {"fish"},
	"capgnn report --ou":          {"--out"},
}

// eachShell gives a test the script of each shell that is on this machine.
func eachShell(t *testing.T, s *sandbox, test func(t *testing.T, shell, script string)) {
	for _, shell := range shells {
		t.Run(shell, func(t *testing.T) {
			if _, err := exec.LookPath(shell); err != nil {
				t.Skipf("there is no %s on this machine to complete in", shell)
			}
			script := s.path("script." + shell)
			if err := os.WriteFile(script, []byte(s.must("completion", shell)), 0o644); err != nil {
				t.Fatal(err)
			}
			test(t, shell, script)
		})
	}
}

// Each shell that is on this machine completes commands, flags, and values of flags.
func TestCompletions(t *testing.T) {
	t.Parallel() // a shell on a terminal is waited for
	s := newSandbox(t)
	eachShell(t, s, func(t *testing.T, shell, script string) {
		for line, want := range completionCases {
			if shell == "zsh" && strings.Contains(line, "--") && !strings.Contains(line, "--model") {
				continue // zsh is slow to ask
			}
			t.Run(line, func(t *testing.T) {
				t.Parallel()
				if got := s.complete(t, shell, script, strings.Fields(line)); !slices.Equal(got, want) {
					t.Errorf("%q is completed by %q, want %q", line, got, want)
				}
			})
		}
	})
	s.fails(term.ExitUsage, []string{"bash"}, "completion")
	s.fails(term.ExitUsage, []string{"bash"}, "completion", "tcsh")
}

// Keys are completed behind a comma, too. zsh shows them without what is before it.
func TestCompletedKeys(t *testing.T) {
	t.Parallel()
	s := newSandbox(t)
	eachShell(t, s, func(t *testing.T, shell, script string) {
		line, want := "capgnn train --cache jaca,reserve-", []string{"jaca,reserve-cpu=", "jaca,reserve-gpu="}
		if shell == "zsh" {
			want = []string{"reserve-cpu=", "reserve-gpu="}
		}
		program, args := completedBy[shell](strings.Fields(line))
		cmd := exec.Command(program, args...)
		cmd.Dir, cmd.Env = s.Dir, append(os.Environ(), "SCRIPT="+script, "HOME="+s.Dir, "TERM=xterm")
		out, err := cmd.CombinedOutput()
		words := strings.Fields(escapes.ReplaceAllString(string(out), ""))
		if err != nil || slices.ContainsFunc(want, func(w string) bool { return !slices.Contains(words, w) }) {
			t.Errorf("%v: %q, want %q", err, words, want)
		}
	})
}

// complete returns what a shell offers, in order, without what does not begin as typed.
func (s *sandbox) complete(t *testing.T, shell, script string, words []string) []string {
	t.Helper()
	program, args := completedBy[shell](words)
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = s.Dir, append(os.Environ(), "SCRIPT="+script, "HOME="+s.Dir, "TERM=xterm")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", shell, err, out)
	}
	var offered []string
	last := words[len(words)-1]
	for _, word := range strings.Fields(escapes.ReplaceAllString(string(out), "")) {
		if word != last && strings.HasPrefix(word, last) && !slices.Contains(offered, word) {
			offered = append(offered, word)
		}
	}
	slices.Sort(offered)
	return offered
}

// The values that are offered for a flag are those that it takes.
func TestOfferedChoices(t *testing.T) {
	for _, name := range runfolder.FlagNames(runfolder.Option.Setting) {
		for _, value := range choicesOf(name) {
			cfg := runfolder.Default()
			cfg.Dataset, cfg.BatchSize = "x", 0
			if name == "devices" || value == "constant" { // which takes a key, too
				continue
			}
			if name == "sampling" || name == "sampler" { // says something beside --batch-size only
				cfg.BatchSize = 1024
			}
			if cfg.Set(name, value); cfg.Validate() != nil {
				t.Errorf("--%s %s is offered and refused: %v", name, value, cfg.Validate())
			}
		}
	}
}

// A flag whose value is a file offers files, also where another command has choices for a flag of that name.
func TestFilesAreNoChoices(t *testing.T) {
	for _, cmd := range completionOf(newApp(io.Discard, io.Discard)).Commands {
		for _, f := range cmd.Flags {
			if f.Files && f.Choices != nil {
				t.Errorf("%s --%s offers %v, and files", cmd.Words, f.Name, f.Choices)
			}
		}
	}
}
