package ranks

import (
	"context"
	"os/exec"
	"strings"

	"capgnn/internal/shell"
)

// Remote runs shell scripts on other machines.
type Remote interface {
	// Command returns the command that runs a script of sh on a host, with its standard streams and exit code.
	Command(ctx context.Context, host, script string) *exec.Cmd
}

// SSH is Remote by the program ssh, which asks nobody anything: keys and known hosts are as `ssh HOST true` needs them.
type SSH struct{}

// Command runs ssh.
func (SSH) Command(ctx context.Context, host, script string) *exec.Cmd {
	return exec.CommandContext(ctx, "ssh", "-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10", "--", host, "exec sh -c "+shell.Quoted(script))
}

// rankScript returns the script that runs a rank on another machine. Its standard input is the launcher's side of the connection:
// the first line is the secret, which so is in no list of processes; every further line is the name of a signal for the rank; the end means that
// the launcher is gone, and the rank has to go, too. The loop that reads it must not outlive the rank, since sshd waits for
// everybody who holds the connection.
func rankScript(dir string, env []string, program string, args []string) string {
	var words []string
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		words = append(words, name+"="+shell.Quoted(value))
	}
	for _, w := range append([]string{program}, args...) {
		words = append(words, shell.Quoted(w))
	}
	return "IFS= read -r " + secretVariable + " && export " + secretVariable + " || exit 2; " +
		"cd " + shell.Quoted(dir) + " || exit 2; " +
		"exec 3<&0; " +
		strings.Join(words, " ") + " 3<&- </dev/null & p=$!; " +
		`{ while IFS= read -r s <&3; do kill -s "$s" $p; done; kill -s TERM $p; } >/dev/null 2>&1 & w=$!; ` +
		"exec 3<&- </dev/null; wait $p; c=$?; kill $w; exit $c"
}
