# Everything a person or CI does with this project. `make help` lists the targets.
.DEFAULT_GOAL := help
SHELL := /bin/sh
BIN := node_modules/.bin
REDOCLY := REDOCLY_TELEMETRY=off REDOCLY_SUPPRESS_UPDATE_NOTICE=true $(BIN)/redocly

sources := $(shell find src migrations generated -type f 2>/dev/null)

# The code of release 1.2.0; make release sets it.
last_release := 05a5d41cd17b27491b2e12372bc5a2bc259ef957

# The tests that make up their input for as long as they are told; those of each operation would take hours.
fuzzed = $(filter-out test/contract/any-request.test.ts,$(shell grep -rlw casesFor test --include=*.test.ts))

# The tests of a matrix of which `make test` tries some cases.
matrices = $(shell grep -rlwE 'ofMatrix|inTurn' test --include=*.test.ts)

# The supported versions of Node.js, the newest LTS last; package.json has the oldest.
node_versions := 20 22 24
node_package = node-$(shell node -p 'process.platform + "-" + process.arch')

# What differs between them: decoders, streams, threads, processes, HTTP.
node_tests := test/unit test/routes/feeds/uploadFeed test/routes/jobs/runJob test/routes/products/listProducts \
	test/runs/formatted test/system/process test/system/runs test/system/cli

# What the service is compared with has packages of its own.
peers := scripts/bench/peers

# Words that have a standard term; the account `nobody` may be named in quotes.
refused_words := \b(amid|whoever|somebody|goes on|so many|of ours|told of|gives? up|by itself|had better)\b|(^|[[:space:]])nobody\b
worded := README.md docs src scripts test spec/openapi.yaml deploy '*.json' '*.mjs' '*.js'

.PHONY: help run test generate drift types lint lint-code lint-document format contract-diff release sdks tiers test-unit test-api test-system test-more test-pooled test-release test-nodes test-citus fuzz schemathesis mock bench bench-release bench-peers pictures load profile compare-answers audit backup restore command-package clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

run: dist/.built ## install, build and start the service on embedded defaults
	@exec npm start --silent

# Tests of processes wait a lot: the slow checks run beside them.
test: node_modules/.installed-all dist/.built ## install, run all checks and the tests of three tiers: unit, api, system
	$(MAKE) --no-print-directory --jobs=2 drift lint-document contract-diff
	$(MAKE) --no-print-directory --jobs=2 tiers lint-code sdks

# The tests must see every documented response.
tiers: node_modules/.installed-all dist/.built
	$(if $(TIMES),TEST_TIMES=1 )CONTRACT_COVERAGE=complete $(BIN)/jest --selectProjects unit api system

test-unit: node_modules/.installed-all ## run the tests that need no database
	$(BIN)/jest --selectProjects unit

test-api: node_modules/.installed-all dist/.built ## run the tests of a service inside the test, with PostgreSQL and S3
	$(BIN)/jest --selectProjects api

test-system: node_modules/.installed-all dist/.built ## run the tests of processes: service, command line, browser, faults
	$(BIN)/jest --selectProjects system

test-more: node_modules/.installed-all dist/.built dist/last-release/.built ## run what takes longer or seldom fails: matrices, manifests, last release, fuzzers
	LAST_RELEASE=$(CURDIR)/dist/last-release $(BIN)/jest --selectProjects more
	TEST_MATRIX=whole $(BIN)/jest $(matrices)
	$(MAKE) --no-print-directory fuzz test-nodes

test-release: node_modules/.installed-all dist/.built dist/last-release/.built ## run the last release on the newest schema, and back
	LAST_RELEASE=$(CURDIR)/dist/last-release $(BIN)/jest test/more/release

test-pooled: node_modules/.installed-all dist/.built ## run tests with PgBouncer before PostgreSQL, but for those that look behind it (KEPT=n prepared statements, FILES=…)
	TEST_POOLER=$(or $(KEPT),0) $(BIN)/jest --selectProjects api system --testPathPatterns $(or $(FILES),.)

# Other folders have no statement on products, or concern the schema and processes.
citus_tests := citus routes runs catalog operation/retention intake sales webhooks http/idempotency http/keys

test-citus: node_modules/.installed-all ## run most API tests on the coordinator of Citus that CITUS_URL names (DISTRIBUTED=1: products in shards, FILES=…)
	@test -n "$$CITUS_URL" || { echo 'Set CITUS_URL to a coordinator of Citus, for example postgresql://postgres@127.0.0.1:5432/postgres.' >&2; exit 1; }
	$(if $(DISTRIBUTED),TEST_SHARDS=4) $(BIN)/jest --selectProjects api --testPathPatterns $(patsubst %,test/%/,$(or $(FILES),$(citus_tests)))

# Tests start processes by the path of their own Node.js: all of them have its version.
test-nodes: node_modules/.installed-all dist/.built $(patsubst %,dist/node-%/.installed,$(or $(NODES),$(node_versions))) ## run tests on each supported version of Node.js (NODES='20 24', FILES='unit routes')
	@for version in $(or $(NODES),$(node_versions)); do \
		PATH="$(CURDIR)/dist/node-$$version/node_modules/$(node_package)/bin:$$PATH"; \
		echo "Node.js $$(node --version)"; \
		$(BIN)/jest --testPathPatterns $(or $(FILES:%=test/%),$(node_tests)) || exit 1; \
	done

fuzz: node_modules/.installed-all dist/.built ## make up hostile files and forms for longer (SECONDS=n for each property, FUZZ_SEED=n to repeat)
	FUZZ_SECONDS=$(or $(SECONDS),30) $(BIN)/jest $(fuzzed)

generate: node_modules/.installed-all ## write all generated files: types, schema dump, reference pages, .env.example
	$(BIN)/tsx scripts/generate.ts

drift: node_modules/.installed-all ## check that generated files agree with their sources
	$(BIN)/tsx scripts/generate.ts --check

types: node_modules/.installed-all ## check the types of everything
	$(BIN)/tsc --noEmit --incremental --tsBuildInfoFile dist/types/service.tsbuildinfo
	$(BIN)/tsc --noEmit --incremental --tsBuildInfoFile dist/types/console.tsbuildinfo -p src/clients/console

lint: lint-code lint-document ## check types, code, formatting and the document

# Each keeps what it found by the content of the files: a second run checks what changed.
lint-code: node_modules/.installed-all
	$(BIN)/tsx scripts/check-code.ts
	$(BIN)/depcruise --cache dist/depcruise --cache-strategy content --output-type err-long src scripts test
	$(BIN)/prettier --cache --cache-strategy content --cache-location dist/prettier --check --log-level warn .
	@if git grep --no-index --exclude-standard -nIiE '$(refused_words)' -- $(worded); then \
		echo 'Use the standard term instead: docs/reference/glossary.md' >&2; exit 1; fi

lint-document: dist/.document-linted

dist/.document-linted: spec/openapi.yaml redocly.yaml .redocly.lint-ignore.yaml .spectral.yaml $(wildcard scripts/spectral/*) node_modules/.installed-all
	$(REDOCLY) lint spec/openapi.yaml
	$(BIN)/spectral lint --fail-severity hint spec/openapi.yaml
	@mkdir -p $(@D) && touch $@

format: node_modules/.installed-all ## format code and documents
	$(BIN)/prettier --cache --cache-strategy content --cache-location dist/prettier --write --log-level warn .

contract-diff: node_modules/.installed-all ## check that version and changelog say what changed in the document
	$(BIN)/tsx scripts/contract-diff.ts

release: drift contract-diff ## release the version of the document: commit and tag it on main
	$(BIN)/tsx scripts/release.ts
	rm -rf dist/last-release

sdks: dist/.sdks-checked ## generate clients with five SDK generators, compile them, and run each against the mock and the service

dist/.sdks-checked: spec/openapi.yaml scripts/check-sdks.ts scripts/service-process.ts test/contract/prism.ts $(wildcard scripts/sdk*.ts test/contract/clients/*) dist/.built node_modules/.installed-all
	$(BIN)/tsx scripts/check-sdks.ts
	@mkdir -p $(@D) && touch $@

bench_options = $(if $(QUICK),--quick) $(foreach name,PRODUCTS PARTNERS DATABASE KINDS SETTINGS OTHER,$(if $($(name)),--$(shell echo $(name) | tr A-Z a-z)='$($(name))'))

bench: node_modules/.installed-all dist/.built ## measure all that is to be fast beside its limit (QUICK=1, ONLY=part, ROUNDS=n, PRODUCTS=n, others in docs/benchmarks.md)
	$(BIN)/tsx scripts/bench/main.ts $(if $(ONLY),--only=$(ONLY)) $(if $(ROUNDS),--rounds=$(ROUNDS)) $(bench_options)

bench-release: node_modules/.installed-all dist/.built $(if $(OTHER),,dist/last-release/.built) ## measure this build and the last release in turns (OTHER=folder of another build, QUICK=1, ROUNDS=n)
	$(BIN)/tsx scripts/bench/main.ts --only=release --rounds=$(or $(ROUNDS),5) $(bench_options)

bench-peers: node_modules/.installed-all dist/.built $(peers)/dist/.built ## measure the service beside fastify with Drizzle and NestJS with TypeORM (QUICK=1, ROWS=n, ROUNDS=n)
	$(BIN)/tsx scripts/bench/main.ts --only=peers $(if $(QUICK),--quick) $(if $(ROWS),--products=$(ROWS)) $(if $(ROUNDS),--rounds=$(ROUNDS))

pictures: node_modules/.installed-all dist/.built ## take the pictures of the console in the documentation (TO=folder: every view in three widths)
	$(BIN)/tsx scripts/console-pictures.ts $(TO)

load: node_modules/.installed-all dist/.built ## keep the service busy with a mixture of everything (MINUTES=n, 30 by default)
	$(BIN)/tsx scripts/load.ts $(MINUTES)

profile: node_modules/.installed-all dist/.built ## print where requests spend their time: Node.js by layer and function, PostgreSQL by statement (SECONDS=n for each kind, KINDS=part of a name)
	$(BIN)/tsx scripts/profile.ts $(or $(SECONDS),10) $(if $(KINDS),'$(KINDS)')

compare-answers: node_modules/.installed-all dist/.built ## make the same requests of this build and another one, and print what differs (OTHER=folder of the other build, FEEDS=folder of files, ONLY=parts)
	@test -n "$(OTHER)" || { echo 'Set OTHER to the folder of another build.' >&2; exit 1; }
	$(BIN)/tsx scripts/compare-answers/main.ts --other='$(OTHER)' $(if $(FEEDS),--feeds='$(FEEDS)') $(if $(ONLY),--only=$(ONLY))

schemathesis: node_modules/.installed-all dist/.built ## try the document with Schemathesis, which must be installed (RECORD=1 to record its requests)
	$(BIN)/tsx scripts/schemathesis.ts $(if $(RECORD),--record)

mock: node_modules/.installed-all ## serve the document's examples with Prism (PORT=n, 4010 by default)
	$(BIN)/prism mock --port $(or $(PORT),4010) spec/openapi.yaml

audit: ## ask the registry for known vulnerabilities of what ships (needs one that answers that)
	npm audit --omit=dev

backup: dist/.built ## copy database, raw files and key of `make run`, also while it runs (TO=folder)
	@npm run --silent admin -- backup $(if $(TO),'$(TO)')

restore: dist/.built ## restore a backup into an empty or new data folder (FROM=folder DATA_DIR=folder)
	@npm run --silent admin -- restore $(if $(FROM),'$(FROM)')

command-package: node_modules/.installed-all dist/.built ## pack the command of partners as an npm package (TO=folder, dist by default)
	@$(BIN)/tsx scripts/command-package.ts $(TO)

clean: ## remove what was installed and built; data stay
	rm -rf node_modules dist $(peers)/node_modules $(peers)/dist

# What the service needs to run; a full installation has it too.
node_modules/.installed: package.json package-lock.json
	test -e node_modules/.installed-all || npm ci --omit=dev --no-audit --no-fund
	touch $@

node_modules/.installed-all: package.json package-lock.json
	npm ci --no-audit --no-fund
	touch $@ node_modules/.installed

dist/.built: $(sources) tsconfig.json tsconfig.build.json | node_modules/.installed
	npm run --silent build
	touch $@

# The last release, from the history, with the packages of this one.
dist/last-release/.built: | node_modules/.installed-all
	@git cat-file -e '$(last_release)^{commit}' 2> /dev/null || { \
		echo 'The last release ($(last_release)) is not here: this needs a clone with the full history (git fetch --unshallow).' >&2; exit 1; }
	rm -rf dist/last-release
	mkdir -p dist/last-release
	git archive $(last_release) | tar -x -C dist/last-release
	ln -s ../../node_modules dist/last-release/node_modules
	$(BIN)/tsc -p dist/last-release/tsconfig.build.json
	touch $@

# The newest Node.js of a major version, from its npm package.
dist/node-%/.installed:
	npm install --prefix $(@D) --no-save --no-package-lock --ignore-scripts --no-audit --no-fund $(node_package)@$*
	touch $@

$(peers)/node_modules/.installed: $(peers)/package.json $(peers)/package-lock.json
	npm ci --prefix $(peers)
	touch $@

$(peers)/dist/.built: $(wildcard $(peers)/*.ts) $(peers)/tsconfig.json $(peers)/node_modules/.installed
	$(BIN)/tsc -p $(peers)
	touch $@
