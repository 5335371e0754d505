package clustercheck

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"

	"capgnn/cluster"
	"capgnn/cmd/capgnn/internal/ranks"
	"capgnn/cmd/capgnn/internal/term"
)

// secretVariable holds a secret as text.
const secretVariable = "CAPGNN_SECRET"

// Secret is where the secret of a rank comes from.
type Secret struct {
	Place string `json:"place"` // a file, or the name of a variable; "": there is none
	Mode  string `json:"mode"`  // of the file
	Made  bool   `json:"made"`  // by this command
}

// String says it in a few words.
func (s Secret) String() string {
	switch {
	case s.Place == "":
		return "none"
	case s.Mode == "":
		return "in the variable " + s.Place
	case s.Made:
		return fmt.Sprintf("%s (mode %s), made now", s.Place, s.Mode)
	}
	return fmt.Sprintf("%s (mode %s)", s.Place, s.Mode)
}

// findSecret says where the secret is. Where there is none it makes one, but not at a rank that needs that of another machine.
func findSecret(file string, env cluster.Lookup, p cluster.Place) (s Secret, err error) {
	if text, _ := env(secretVariable); file == "" && text != "" {
		_, err := ranks.Secret("", env)
		return Secret{Place: secretVariable}, err
	}
	s.Place = file
	if file == "" {
		if s.Place, err = ranks.SecretPath(env); err != nil {
			return s, term.AsUsage(err)
		}
	}
	_, err = os.Lstat(s.Place)
	switch {
	case err == nil:
		_, err = ranks.Secret(s.Place, env)
	case errors.Is(err, fs.ErrNotExist) && p.Rank > 0 && !local(p):
		host, _, _ := net.SplitHostPort(p.Master)
		return s, (&Problem{"this machine has no secret (" + s.Place + ")", copySecret(host, s.Place, env)}).fault()
	case errors.Is(err, fs.ErrNotExist):
		_, s.Made, err = ranks.MakeSecret(s.Place)
	}
	if err != nil {
		return s, term.AsUsage(err)
	}
	if info, err := os.Stat(s.Place); err == nil {
		s.Mode = fmt.Sprintf("%04o", info.Mode().Perm())
	}
	return s, nil
}

// local reports whether all ranks are on this machine.
func local(p cluster.Place) bool {
	host, _, _ := net.SplitHostPort(p.Master)
	ip := net.ParseIP(host)
	return p.Ranks == 0 || p.LocalRanks == p.Ranks || host == "localhost" || ip != nil && ip.IsLoopback()
}

// copySecret is how a machine gets the secret of rank 0's, whose file is in the same place of the home folder there.
func copySecret(host, path string, env cluster.Lookup) string {
	there, here := path, path
	if home, _ := env("HOME"); home != "" && strings.HasPrefix(path, home+"/") {
		there = strings.TrimPrefix(path, home+"/")
		here = "~/" + there
	}
	return fmt.Sprintf("copy it from rank 0's machine: `mkdir -pm 700 %s && scp -p %s:%s %s`", filepath.Dir(here), host, there, here)
}
