# The doors of the house; what is behind them is in xtask/. `make` alone prints this list.
CARGO ?= cargo
XTASK = $(CARGO) run --quiet --package xtask --
PREFIX ?=
KERNEL ?=
FILTER ?=

.DEFAULT_GOAL := help
.PHONY: help demo test install dist page bench test-vm docs clean linker

help: ## Print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-9s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

demo: linker ## Build, watch a real task, show the report
	@$(XTASK) demo

test: linker ## Every check and test; as root those of root too
	@$(XTASK) setup test
	@$(XTASK) ci

install: linker ## Program, manual page, completions (PREFIX=/usr/local, ~/.local without root)
	@$(XTASK) install $(if $(PREFIX),--prefix $(PREFIX))

dist: linker ## One static file in dist/
	@$(XTASK) dist

page: linker ## The page of an archive, web/dist/index.html (needs node)
	@$(XTASK) page

bench: linker ## Ratios against the bare task
	@$(XTASK) bench run

test-vm: linker ## The truth tests on Debian's 6.1 and 6.12, emulated (KERNEL=6.12 FILTER=memory)
	@$(XTASK) test-vm $(KERNEL) $(addprefix --filter ,$(FILTER))

docs: linker ## Write METRICS.md
	@$(XTASK) docs

clean: ## Remove what was built
	$(CARGO) clean
	rm -rf dist web/dist web/node_modules

# Without a linker not even xtask can be built, so this one is seen to here.
linker:
	@command -v $(CARGO) >/dev/null || { echo "cargo is missing: install Rust stable" >&2; exit 1; }
	@command -v cc >/dev/null || { \
	  if [ "$$(id -u)" != 0 ]; then \
	    echo "missing packages; as root: apt-get install gcc libc6-dev" >&2; exit 1; fi; \
	  if [ "$$CI" != true ] && [ -t 0 ]; then \
	    printf 'apt-get install gcc libc6-dev\nInstall these packages now? [Y/n] '; read -r answer; \
	    case $$answer in ''|y|Y|yes) ;; *) exit 1 ;; esac; fi; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	    apt-get install -y -qq --no-install-recommends gcc libc6-dev >/dev/null; }
