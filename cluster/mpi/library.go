//go:build mpi && linux

package mpi

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/ebitengine/purego"
)

// Family is a binary interface of MPI.
type Family string

// Families that this package speaks. Intel MPI, MVAPICH and Cray MPICH have that of MPICH.
const (
	OpenMPI Family = "Open MPI"
	MPICH   Family = "MPICH"
)

// names are the files of each family, as the loader finds them. Debian's MPICH has a name of its own.
var names = []struct {
	family Family
	files  []string
}{
	{OpenMPI, []string{"libmpi.so.40"}},
	{MPICH, []string{"libmpi.so.12", "libmpich.so.12"}},
}

// Launcher says by its variables which MPI started this process: Open MPI's mpirun, or that of MPICH and its relatives. "" with known set:
// one that may be of either, such as srun. known is false where nobody speaks of MPI.
func Launcher(env func(name string) string) (family Family, known bool) {
	switch {
	case env("OMPI_COMM_WORLD_SIZE") != "":
		return OpenMPI, true
	case env("MPI_LOCALNRANKS") != "":
		return MPICH, true
	}
	return "", env("PMIX_RANK") != "" || env("PMI_RANK") != ""
}

// library is an open libmpi. Handles are what its constants are: addresses, or numbers.
type library struct {
	file                                                                            string
	family                                                                          Family
	world, byteType, nullRequest, errorsReturn                                      uintptr
	requestBytes, errorAt                                                           uintptr // size of an MPI_Request; where MPI_ERROR is in an MPI_Status
	calls                                                                           int     // of MPI_Testsome until it has looked at everything
	initThread, commRank, commSize, setErrhandler, isend, irecv, testsome, getCount uintptr
	cancel, finalize, errorString, libraryVersion                                   uintptr
}

// openLibrary opens a file, "" = that of the family that started this process, or the only one that is there.
func openLibrary(file string, launcher Family) (*library, error) {
	if file != "" {
		l, err := load(file)
		if err != nil {
			return nil, fmt.Errorf("open the MPI library %s: %w", file, err)
		}
		return l, nil
	}
	var found []string
	var wanted []string
	for _, n := range names {
		if launcher != "" && n.family != launcher {
			continue
		}
		wanted = append(wanted, n.files...)
		for _, f := range n.files {
			if h, err := purego.Dlopen(f, purego.RTLD_LAZY|purego.RTLD_LOCAL); err == nil {
				found = append(found, f)
				_ = purego.Dlclose(h)
				break
			}
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("no MPI library was found (%s): install Open MPI or MPICH, or load its module", strings.Join(wanted, ", "))
	case 1:
		return load(found[0])
	}
	return nil, fmt.Errorf("two MPI libraries were found (%s), and the launcher does not say which is its own: name one by CAPGNN_LIBMPI", strings.Join(found, ", "))
}

// load opens a library and finds what this package calls.
func load(file string) (*library, error) {
	// Open MPI's plugins look for its symbols among those of the process.
	h, err := purego.Dlopen(file, purego.RTLD_NOW|purego.RTLD_GLOBAL)
	if err != nil {
		return nil, errors.New(oneLine(err.Error()))
	}
	l := &library{file: file}
	for name, at := range map[string]*uintptr{
		"MPI_Init_thread": &l.initThread, "MPI_Comm_rank": &l.commRank, "MPI_Comm_size": &l.commSize, "MPI_Comm_set_errhandler": &l.setErrhandler,
		"MPI_Isend": &l.isend, "MPI_Irecv": &l.irecv, "MPI_Testsome": &l.testsome, "MPI_Get_count": &l.getCount, "MPI_Cancel": &l.cancel,
		"MPI_Finalize": &l.finalize, "MPI_Error_string": &l.errorString, "MPI_Get_library_version": &l.libraryVersion,
	} {
		if *at, err = purego.Dlsym(h, name); err != nil {
			return nil, fmt.Errorf("it has no %s: is it a libmpi?", name)
		}
	}
	if l.world, err = purego.Dlsym(h, "ompi_mpi_comm_world"); err != nil {
		return l, l.numbers()
	}
	// Open MPI looks at sockets in one of eight calls (opal_progress).
	l.family, l.requestBytes, l.errorAt, l.calls = OpenMPI, 8, 8, 8
	for name, at := range map[string]*uintptr{
		"ompi_mpi_byte": &l.byteType, "ompi_request_null": &l.nullRequest, "ompi_mpi_errors_return": &l.errorsReturn,
	} {
		if *at, err = purego.Dlsym(h, name); err != nil {
			return nil, fmt.Errorf("it has ompi_mpi_comm_world, but no %s", name)
		}
	}
	return l, nil
}

// numbers sets the handles of MPICH's interface, which its relatives keep since 2013 (https://www.mpich.org/abi). A library that does
// not say that it is one of them is refused: its handles may be others.
func (l *library) numbers() error {
	version := l.version()
	for _, name := range []string{"MPICH", "Intel(R) MPI", "MVAPICH", "CRAY"} {
		if strings.Contains(version, name) {
			l.family, l.requestBytes, l.errorAt, l.calls = MPICH, 4, 16, 1
			l.world, l.byteType, l.nullRequest, l.errorsReturn = 0x44000000, 0x4c00010d, 0x2c000000, 0x54000001
			return nil
		}
	}
	return fmt.Errorf("it is neither Open MPI nor MPICH or a relative: %.80q", version)
}

// name is what messages call the library.
func (l *library) name() string { return fmt.Sprintf("%s (%s)", l.family, filepath.Base(l.file)) }

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
