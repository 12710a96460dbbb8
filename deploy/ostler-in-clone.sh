#!/bin/sh
# Runs `ostler ARGS` in a clone of $REPOSITORY, which is created in $CLONE when it does not exist.
set -eu
: "${REPOSITORY:?set it to the URL of the git repository}"
clone=${CLONE:-/srv/ostler/clone}
if [ ! -d "$clone/.git" ]; then
  git clone --quiet "$REPOSITORY" "$clone"
fi
cd "$clone"
# The settings of a worker are those of its clone. One that cannot be updated starts with what it has.
git pull --quiet --ff-only || echo "ostler-in-clone: git pull failed; using the clone as it is" >&2
exec ostler "$@"
