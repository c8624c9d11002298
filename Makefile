.PHONY: help run test chaos mutants check check-api bench package ui icons

help: ## List what can be made
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:[^#]*## /\t/' | expand -t 12

run: ## Set up, build and run the sample (or a data folder: make run DATA=…)
	@DATA='$(DATA)' exec scripts/run.sh

test: ## Set up, check and run every test
	@scripts/test.sh

chaos: ## The long tests: kill, stop and starve processes, let one run for long (about an hour)
	@scripts/chaos.sh

check: ## Formatting, lints, types, dependency policy, generated files
	@scripts/check.sh

mutants: ## Take each guard out of a copy, and see its tests go red
	@scripts/mutants.sh

check-api: ## Ask a running server all that its description allows: no 5xx, nothing undocumented
	@scripts/setup.sh run && scripts/check-api.sh

bench: ## Measure the engine, and the built program from outside (about 50 minutes)
	@scripts/setup.sh check && scripts/page.sh
	@cargo bench --locked -p loopkeeper-engine --bench schedule --bench loops --bench ledger --bench engine
	@cargo bench --locked -p loopkeeper-desktop --bench menu
	@cargo bench --locked -p loopkeeper --bench scenarios

package: ## Build an installer for this system, into target/release/bundle
	@scripts/package.sh

ui: ## Build the page into ui/dist
	@scripts/setup.sh check && npm run --prefix ui build

icons: ## Draw the icons anew from their SVG files
	@scripts/setup.sh check && node scripts/icons.mjs
