#!/bin/bash
# Runs the tests, and leaves what a pipeline shows: report.xml. More words go to pytest.
set -euo pipefail
cd -- "$(dirname -- "${BASH_SOURCE[0]}")"
python -m pytest --numprocesses 2 --junitxml report.xml "$@"
