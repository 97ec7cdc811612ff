# SPDX-License-Identifier: Apache-2.0
# Thin targets over the presets of CMakePresets.json. Each build has its own folder build/<preset>.
.DEFAULT_GOAL := build
.PHONY: build demo bench check check-long check-tsan check-java check-pypaimon check-hosts check-kills abi fuzz lint format install clean help
# One recipe at a time: the tools below share the machine's cores among themselves.
.NOTPARALLEL:

JOBS ?= $(shell nproc)
SECONDS ?= 60
PREFIX ?= /usr/local
KILLS ?= 200
# A build folder keeps the generator it was made with; a new one gets Ninja when it is installed.
generator = CMAKE_GENERATOR="$$(if command -v ninja >/dev/null; then echo Ninja; else echo 'Unix Makefiles'; fi)"
# $(call cmake-build,PRESET): configure and build.
define cmake-build
@echo "== $(1)"
@$(generator) cmake --preset $(1) $(CMAKE_FLAGS) --log-level=WARNING >/dev/null
@cmake --build build/$(1) -j $(JOBS)
endef

build:
	@scripts/bootstrap
	$(call cmake-build,release)
	@ln -sfn release/lib build/lib
	@if [ -e build/release/pml ]; then ln -sfn release/pml build/pml; echo "command:  $(CURDIR)/build/pml"; fi
	@echo "library:  $(CURDIR)/build/lib/libpaimonlive.so"

demo: build
	@PML=$(CURDIR)/build/pml scripts/demo

bench: build
	@bench/run $(BENCH_FLAGS)

check:
	@scripts/bootstrap
	$(call cmake-build,debug-asan)
	@ctest --test-dir build/debug-asan -j $(JOBS) --output-on-failure --no-tests=error

# What random tests of live tables with a primary key take longer for than `make check` has: in the optimised build.
LONG_TESTS = keyed_law model sequences_model interleaving keyed_many
LONG_ROUNDS ?= 500
LONG_STEPS ?= 1000000
LONG_SEED ?= 20261130
check-long:
	@scripts/bootstrap
	@$(generator) cmake --preset release -B build/long -DPML_TESTS=ON $(CMAKE_FLAGS) --log-level=WARNING >/dev/null
	@cmake --build build/long -j $(JOBS) --target $(LONG_TESTS:%=test_realtime_%) test_stores_collapse_model
	@ROUNDS=$$(($(LONG_ROUNDS) / 2)) SEED=$(LONG_SEED) build/long/tests/test_realtime_keyed_law & half=$$!; \
	ROUNDS=$$(($(LONG_ROUNDS) - $(LONG_ROUNDS) / 2)) SEED=$$(($(LONG_SEED) + 100000000)) build/long/tests/test_realtime_keyed_law && wait $$half
	@STEPS=$(LONG_STEPS) SEED=$(LONG_SEED) build/long/tests/test_realtime_model
	@DEPTH=5 build/long/tests/test_realtime_sequences_model
	@DEPTH=6 TEST='every_sequence_of_one_bucket*' build/long/tests/test_realtime_sequences_model
	@DEPTH=5 build/long/tests/test_stores_collapse_model
	@HOT=1000000 SEED=$(LONG_SEED) build/long/tests/test_realtime_keyed_many
	@ROUNDS=300 SEED=$(LONG_SEED) build/long/tests/test_realtime_interleaving

check-tsan:
	@scripts/bootstrap
	$(call cmake-build,tsan)
	@PAIRS=1 ctest --test-dir build/tsan -L concurrent -j $(JOBS) --output-on-failure

check-java: build
	@PML=$(CURDIR)/build/pml scripts/check-java

check-pypaimon: build
	@PML=$(CURDIR)/build/pml scripts/check-pypaimon

check-hosts: build
	@scripts/check-hosts build/release

check-kills:
	@scripts/bootstrap
	$(call cmake-build,debug-asan)
	@KILLS=$(KILLS) build/debug-asan/tests/test_realtime_kill

abi:
	@scripts/bootstrap
	@JOBS=$(JOBS) scripts/abi-diff $(if $(BASE),$(BASE),$(error say which commit to compare with: make abi BASE=...))

# The corpus grows in build/fuzz/corpus; what breaks something is left in build/fuzz/found.
fuzz:
	@test -f "tests/fuzz/$(TARGET)_fuzz.c" || { echo "make fuzz TARGET=<noun> SECONDS=<n>, noun one of:" \
	  $(patsubst tests/fuzz/%_fuzz.c,%,$(wildcard tests/fuzz/*_fuzz.c)); exit 2; }
	@scripts/bootstrap
	@$(generator) cmake --preset fuzz $(CMAKE_FLAGS) --log-level=WARNING >/dev/null
	@cmake --build build/fuzz -j $(JOBS) --target fuzz_$(TARGET)
	@mkdir -p build/fuzz/corpus/$(TARGET) build/fuzz/found
	@ARROW_DEFAULT_MEMORY_POOL=system UBSAN_OPTIONS=print_stacktrace=1 TZ=UTC build/fuzz/tests/fuzz_$(TARGET) \
	  -max_total_time=$(SECONDS) -timeout=20 -rss_limit_mb=4096 -print_final_stats=1 \
	  -artifact_prefix=build/fuzz/found/$(TARGET)- build/fuzz/corpus/$(TARGET) tests/fuzz/corpus/$(TARGET)

lint:
	@scripts/bootstrap
	@scripts/lint

format:
	@scripts/format

install: build
	@cmake --install build/release --prefix $(PREFIX)

clean:
	rm -rf build/debug-asan build/fuzz build/release build/tsan build/coverage build/lib build/pml

help:
	@echo "make              build the library and the command (build/pml)"
	@echo "make demo         real rows queried before they are committed, then a million upserts; crashes; nothing lost"
	@echo "make bench        every bar of speed and what was measured (BENCH_FLAGS=--only=append, --small, --list)"
	@echo "make check        everything a change must pass: build with ASan, UBSan and LSan; all tests; style"
	@echo "make check-long   random tests of live tables with a primary key, at length, in the optimised build"
	@echo "make check-tsan   the tests of several threads with TSan"
	@echo "make check-java   Java Paimon reads what we write and the other way round (needs a JDK and Maven)"
	@echo "make check-pypaimon  the same with pypaimon"
	@echo "make check-hosts  the library in processes that have another Apache Arrow, of other versions"
	@echo "make check-kills  a live writer killed KILLS=$(KILLS) times: no row is lost, none is there twice"
	@echo "make abi BASE=... what changed since a commit for programs that are built already (needs abigail-tools)"
	@echo "make fuzz TARGET=manifest SECONDS=60   one target of tests/fuzz with libFuzzer (needs clang)"
	@echo "make lint         style checks and the static analyser"
	@echo "make format       lay out the C and C++ files that you changed"
	@echo "make install      into PREFIX=$(PREFIX), below DESTDIR if set"
	@echo "make clean        remove what was built; build/deps stays"
	@echo "JOBS=$(JOBS) and CMAKE_FLAGS=... may be given."
