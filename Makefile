# capgnn builds with `go build ./cmd/capgnn`; this file is for what needs more than that.

# Makes cgo find the driver interface that gorgonia.org/cu and gpu/cuda compile against; before a toolkit's, if there is one.
export CGO_CFLAGS := -O2 -g -I$(CURDIR)/gpu/cuda/header

.PHONY: all gpu check-gpu test-gpu

all:
	go build -o capgnn ./cmd/capgnn

# capgnn with CUDA. Needs Go and a C compiler, no toolkit and no driver.
gpu:
	CGO_ENABLED=1 go build -tags cuda -o capgnn ./cmd/capgnn
	@$(MAKE) --no-print-directory check-gpu

# The program must start on machines without a driver: it may not need libcuda, nor a driver call that cudalink lacks.
check-gpu:
	@if readelf -d capgnn | grep -E 'NEEDED.*lib(cuda|cublas|nvidia)'; then echo 'capgnn needs a CUDA library at start' >&2; exit 1; fi
	@if nm -u capgnn | grep -E ' cu[A-Z]'; then echo 'capgnn has driver calls that cudalink does not define: declare them in gpu/cuda/header/cuda_calls.h and run gpu/cuda/cudalink/symbols.sh' >&2; exit 1; fi

# The tests of the CUDA backend, on a driver made for tests.
test-gpu:
	CGO_ENABLED=1 go test -tags cuda ./gpu/cuda/...
