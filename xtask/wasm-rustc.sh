#!/bin/sh
# Debian's compiler is older than the one that this project wants: what it needs was still unstable then.
compiler=$1
shift
exec "$compiler" "$@" -Z 'crate-attr=feature(let_chains, unsigned_is_multiple_of)' -A unused_features -A stable_features
