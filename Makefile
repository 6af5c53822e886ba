# The front door. Everything real is in meson.build and mk/; this only names it.
# Targets install what they need and what is missing, or say what to install (mk/setup.sh).

PREFIX ?= /usr/local
LIBDIR ?= lib
DESTDIR ?=
FUZZ_SECONDS ?= 60
STORE ?= sqlite
SOAK ?=
ONLY ?=

# What these targets make, and all that `make clean` removes.
BUILT = build build-test build-asan build-tsan build-tidy build-fuzz build-results \
        build-roots

.DEFAULT_GOAL := build
.PHONY: run build test ci bench conformance tidy format asan tsan fuzz roots docs install clean help

run: build ## build, then show pawl at work on a SQLite file of its own
	@mk/setup.sh run
	@mk/demo.sh build/pawl

build: ## the optimised binary, at build/pawl
	@mk/setup.sh build
	@mk/configure.sh build --prefix='$(PREFIX)' --libdir='$(LIBDIR)' -Dtests=false
	@ninja -C build

test: ## all tests but the longest, and the quick checks (ONLY='http_*': those of these names)
	@mk/setup.sh build test tidy
	@mk/test.sh --only='$(ONLY)' plain $(if $(ONLY),,checks)

ci: ## make test, then the rest: long tests, sanitizers, static analysis, fuzzing, Debian 13
	@mk/setup.sh build test tidy fuzz roots
	@mk/test.sh all checks asan tsan tidy fuzz roots

bench: build ## measure against raw SQLite (STORE=postgres: libpq); also in build/bench.json
	@mk/bench.sh '$(STORE)' '$(SOAK)'

conformance: build ## the Open Job Spec's test cases against build/pawl, as a table
	@tests/conformance/serve_test.py build/pawl --table

tidy: ## format, includes, symbols, static analysis
	@mk/setup.sh build test tidy
	@mk/tidy.py

format: ## put the C sources into the house format
	@mk/setup.sh tidy
	@mk/tidy.py --fix-format

asan: ## the tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@mk/setup.sh build test
	@mk/test.sh asan

tsan: ## the tests that use threads under ThreadSanitizer
	@mk/setup.sh build test
	@mk/test.sh tsan

fuzz: ## fuzz every parser, each for FUZZ_SECONDS (60)
	@mk/setup.sh build fuzz
	@FUZZ_SECONDS='$(FUZZ_SECONDS)' mk/fuzz.sh

roots: ## make run and the quick tests in bare roots of Debian 13 and Ubuntu 24.04 (as root)
	@mk/setup.sh roots
	@mk/roots.sh

docs: ## remake the documents that are made from the code
	@mk/setup.sh build test
	@mk/configure.sh build-test
	@ninja -C build-test --quiet pawl docs-lifecycle
	@build-test/pawl __doc >build-test/cli.md && mv build-test/cli.md docs/cli.md

install: build ## into DESTDIR/PREFIX (PREFIX is /usr/local, libraries go to PREFIX/LIBDIR)
	@DESTDIR='$(DESTDIR)' meson install -C build --no-rebuild
	@[ -n '$(DESTDIR)' ] || [ "$$(id -u)" -ne 0 ] || ldconfig

clean: ## remove all that was built
	@rm -rf $(BUILT)

help: ## this list
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16
