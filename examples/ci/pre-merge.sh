#!/usr/bin/env bash
# Before a merge: every frozen failure of the bench, and not one of them red. Needs jq.
set -euo pipefail
crucible list-scenarios --json | jq -r '.[] | select(.kind == "failure") | .name' \
  | xargs -I{} crucible confirm {} --parallel 7 --max-seconds 600
