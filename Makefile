# Entry points. The build itself is in meson.build and mk/.
# Targets install missing packages, or print what to install (mk/setup.sh).

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

run: build ## build, then demonstrate pawl on a temporary SQLite file
	@mk/setup.sh run
	@mk/demo.sh build/pawl

build: ## the optimised binary, at build/pawl
	@mk/setup.sh build
	@mk/configure.sh build --prefix='$(PREFIX)' --libdir='$(LIBDIR)' -Dtests=false
	@ninja -C build

test: ## all tests but the longest, and the quick checks (ONLY='http_*': matching names only)
	@mk/setup.sh build test tidy
	@mk/test.sh --only='$(ONLY)' plain $(if $(ONLY),,checks)

ci: ## make test, then the rest: long tests, sanitizers, static analysis, fuzzing, Debian 13
	@mk/setup.sh build test tidy fuzz roots
	@mk/test.sh all checks asan tsan tidy fuzz roots

bench: build ## compare with raw SQLite (STORE=postgres: libpq); also in build/bench.json
	@mk/bench.sh '$(STORE)' '$(SOAK)'

conformance: build ## the Open Job Spec's test cases against build/pawl, as a table
	@tests/conformance/serve_test.py build/pawl --table

tidy: ## format, includes, symbols, static analysis
	@mk/setup.sh build test tidy
	@mk/tidy.py

format: ## format the C sources
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

roots: ## make run and the quick tests in minimal chroots of Debian 13 and Ubuntu 24.04 (as root)
	@mk/setup.sh roots
	@mk/roots.sh

docs: ## regenerate the documents that are generated from the code
	@mk/setup.sh build test
	@mk/configure.sh build-test
	@ninja -C build-test --quiet pawl docs-lifecycle
	@build-test/pawl __doc >build-test/cli.md && mv build-test/cli.md docs/cli.md

install: build ## install into DESTDIR/PREFIX (default /usr/local; libraries in PREFIX/LIBDIR)
	@DESTDIR='$(DESTDIR)' meson install -C build --no-rebuild
	@[ -n '$(DESTDIR)' ] || [ "$$(id -u)" -ne 0 ] || ldconfig

clean: ## remove all build results
	@rm -rf $(BUILT)

help: ## this list
	@sed -n 's/^\([a-z]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 16
