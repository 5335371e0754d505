//go:build mpi && linux

package mpi

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"capgnn/cluster/mpi/fakempi"
)

func TestOpenErrors(t *testing.T) {
	libraries := func(config map[string]int) string {
		return fakempi.Libraries(t, 2, fakempi.Options{Config: config})[1]
	}
	for name, tc := range map[string]struct{ library, want string }{
		"not there":  {"/nowhere/libmpi.so", "open the MPI library /nowhere/libmpi.so: /nowhere/libmpi.so: cannot open shared object file"},
		"no libmpi":  {"libc.so.6", "open the MPI library libc.so.6: it has no MPI_"},
		"one thread": {libraries(map[string]int{"thread": 0}), "begin Open MPI (fake-1-of-2.so): it was built for processes of one thread (level 0)"},
		"no ranks":   {libraries(map[string]int{"size": 0}), "begin Open MPI (fake-1-of-2.so): it says that this is rank 1 of 0"},
	} {
		w, err := Open(context.Background(), Options{Library: tc.library})
		if err == nil || !strings.HasPrefix(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, %v", name, w, err)
		}
	}
}

// With several libraries in the loader's way, the launcher's is opened; where it does not say which that is, there are two.
func TestWhichLibrary(t *testing.T) {
	const variable = "CAPGNN_TEST_LAUNCHER"
	if family, ok := os.LookupEnv(variable); ok {
		l, err := openLibrary("", Family(family))
		if err != nil {
			os.Stdout.WriteString(err.Error())
		} else {
			os.Stdout.WriteString("found " + l.name())
		}
		os.Exit(0)
	}
	place := func(names ...string) string {
		dir := t.TempDir()
		for _, name := range names {
			b, err := os.ReadFile(fakempi.Libraries(t, 1, fakempi.Options{MPICH: !strings.Contains(name, ".40")})[0])
			if err == nil {
				err = os.WriteFile(filepath.Join(dir, name), b, 0o700)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		return dir
	}
	both, open, intel := place("libmpi.so.40", "libmpi.so.12"), place("libmpi.so.40"), place("libmpi.so.12")
	for _, tc := range []struct{ dir, launcher, want string }{
		{both, "Open MPI", "found Open MPI (libmpi.so.40)"},
		{both, "MPICH", "found MPICH (libmpi.so.12)"},
		{both, "", "two MPI libraries were found (libmpi.so.40, libmpi.so.12), and the launcher does not say which is its own: name one by CAPGNN_LIBMPI"},
		{open, "Open MPI", "found Open MPI (libmpi.so.40)"},
		{intel, "MPICH", "found MPICH (libmpi.so.12)"},
	} {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestWhichLibrary$")
		cmd.Env = append(os.Environ(), variable+"="+tc.launcher, "LD_LIBRARY_PATH="+tc.dir)
		if out, err := cmd.Output(); err != nil || string(out) != tc.want {
			t.Errorf("launcher %q with %s: %q, %v, want %q", tc.launcher, tc.dir, out, err, tc.want)
		}
	}
}

func TestLauncher(t *testing.T) {
	for _, tc := range []struct {
		set    string
		family Family
		known  bool
	}{
		{"", "", false},
		{"RANK SLURM_PROCID", "", false},
		{"OMPI_COMM_WORLD_SIZE PMIX_RANK", OpenMPI, true},
		{"PMI_RANK PMI_SIZE MPI_LOCALNRANKS", MPICH, true},
		{"PMIX_RANK", "", true},
		{"PMI_RANK", "", true},
	} {
		family, known := Launcher(func(name string) string {
			if strings.Contains(" "+tc.set+" ", " "+name+" ") {
				return "1"
			}
			return ""
		})
		if family != tc.family || known != tc.known {
			t.Errorf("%s: %q, %v", tc.set, family, known)
		}
	}
}
