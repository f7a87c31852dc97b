# make book      execute all notebooks and render the pages; PROFILE=smoke|quick|desk|paper, quick by default
# make run       one notebook with parameters of your own: make run CHAPTER=03 ARGS="-p seed 7"
# make test      the laws of the library
# make test-all  and what is slow: builds, browsers, experiments
# make device    all notebooks on a GPU, after `make book PROFILE=smoke`; on one that is pretended where there is none
# make check     style and types
# make pages     the built pages: links, formulas, and how they behave in a browser
# make bench     times beside those of other libraries
# make lab       JupyterLab in the folder of the chapters; options by ARGS="--no-browser --port 8889"
# make lock      pin what pyproject.toml declares
# make clean     remove all that was built, the environment too
#
# UV_TORCH_BACKEND=cpu make book installs wheels of torch without CUDA, which are some 6 GB smaller.
PYTHON  ?= python3
PROFILE ?= quick
BIN     := .venv/bin
READY   := .venv/ready
# wheels of torch without CUDA need none of these
PINS := grep -v -E "$$(test "$$UV_TORCH_BACKEND" = cpu && echo '^(cuda|nvidia|triton)' || echo '^$$')" requirements.lock
# two `make` at once must not install into one folder at once (flock is part of every Debian and Ubuntu)
ONE_AT_A_TIME := $(shell command -v flock >/dev/null 2>&1 && echo flock .venv.lock)
# the folder's name may have a space: no recipe writes it, and what must be absolute is exported
export INTERTWINE_DATA ?= $(CURDIR)/data

.PHONY: book run test test-all device check pages bench lab lock clean

# set in many containers: each of the processes of a build would compile torch, pandas and sphinx anew
unexport PYTHONDONTWRITEBYTECODE

book: $(READY)
	@$(BIN)/intertwine build --profile "$(PROFILE)"

CHAPTER ?= 01
run: $(READY)
	@$(BIN)/intertwine run "$(CHAPTER)" --profile "$(PROFILE)" $(ARGS)

test: $(READY)
	@OMP_NUM_THREADS=1 $(BIN)/pytest -q -n auto --dist worksteal --durations=15 -m "not slow"

test-all: test
	@OMP_NUM_THREADS=1 $(BIN)/pytest -q -n auto --dist worksteal -m slow

# tables and verdicts must be those of `make book PROFILE=smoke`; INTERTWINE_DTYPE is the same for both, and the networks are
# trained again
DEVICE := _build/device
device: export PYTHONPATH := $(CURDIR)/tests/pretend$(if $(PYTHONPATH),:$(PYTHONPATH))
device: export OMP_NUM_THREADS = 1
device: export INTERTWINE_DTYPE = float32
device: export INTERTWINE_ZOO = $(CURDIR)/$(DEVICE)/zoo
device: export INTERTWINE_RUNS = _build/executed/smoke:$(DEVICE)
device: $(READY)
	@rm -rf $(DEVICE) && mkdir -p $(DEVICE)/records
	@$(BIN)/python -c 'import torch; print("All notebooks on the GPU:", torch.cuda.get_device_name())'
	@printf '%s\n' $(patsubst chapters/%.py,%,$(wildcard chapters/[0-9]*.py chapters/records/*.py)) | xargs -P 2 -I{} sh -c \
	  '$(BIN)/intertwine run {} --profile smoke $$(grep -q "^device:" chapters/{}.py && echo -p device cuda) --output $(DEVICE)/{}.ipynb >$(DEVICE)/{}.log 2>&1 \
	   || { cat $(DEVICE)/{}.log; exit 1; }'
	@$(BIN)/pytest -q -m gpu tests/test_gpu.py tests/test_gpu_examples.py tests/test_pretend.py tests/test_device_run.py

check: $(READY)
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

pages: $(READY)
	@INTERTWINE_HTML=_build/html $(BIN)/pytest -q -n 2 tests/test_pages.py tests/test_pages_browser.py

bench: $(READY)
	@for script in benchmarks/bench_*.py; do echo "== $$script"; $(BIN)/python "$$script" || exit 1; done

lab: $(READY)
	@$(BIN)/jupyter lab --notebook-dir chapters $$(test "$$(id -u)" != 0 || echo --allow-root) $(ARGS)

lock: $(READY)
	@$(BIN)/uv pip compile --quiet --universal --all-extras --no-annotate --no-header pyproject.toml -o requirements.lock

clean:
	@rm -rf _build .venv .venv.lock .mypy_cache .pytest_cache .ruff_cache .hypothesis book/chapters book/generated
	@find lib tests chapters -name __pycache__ -prune -exec rm -rf {} +

$(READY): requirements.lock pyproject.toml
	@$(ONE_AT_A_TIME) $(MAKE) --no-print-directory install

.PHONY: install
install:
	@if [ $(READY) -nt requirements.lock ] && [ $(READY) -nt pyproject.toml ]; then exit 0; fi; \
	"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11) and \
	  "expected Python 3.11 or newer, found %d.%d: install one and run `make PYTHON=/path/to/python3`" % sys.version_info[:2])' && \
	echo "Installing the locked environment into .venv (once; 6.6 GB, mostly PyTorch)" && \
	"$(PYTHON)" -m venv .venv && \
	$(BIN)/python -m pip install --quiet --disable-pip-version-check "$$(grep '^uv==' requirements.lock)" && \
	$(PINS) | $(BIN)/uv pip sync --python $(BIN)/python - && \
	$(BIN)/uv pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation --editable . && \
	touch $(READY)
