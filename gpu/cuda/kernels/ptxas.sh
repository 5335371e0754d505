#!/bin/sh
# ptxas.sh FOLDER: installs NVIDIA's ptxas from PyPI into a virtual environment there, and prints its path. Its release has a table
# beside this file.
set -eu
python3 -m venv "$1" >&2
"$1/bin/pip" install -q --disable-pip-version-check --no-deps --only-binary=:all: nvidia-cuda-nvcc==13.0.88 >&2
find "$1" -name ptxas -type f | grep .
