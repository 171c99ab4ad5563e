#!/usr/bin/env bash
# Packs `zs` for people without Rust: the binary, its manual pages, completions and licences. The archive
# zs-TARGET.tar.gz and its checksum are written into the folder OUT.
set -euo pipefail
target=${1:?usage: archive.sh TARGET FOLDER-WITH-ZS OUT}
folder=${2:?}
out=${3:?}
zs=$folder/zs
[ -e "$zs" ] || zs=$folder/zs.exe
name=zs-$target
here=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$out/$name/man" "$out/$name/completions"
cp "$zs" "$here"/LICENSE-* "$here/crates/cli/README.md" "$out/$name"
"$zs" man >"$out/$name/man/zs.1"
for command in explain eval info; do
    "$zs" man "$command" >"$out/$name/man/zs-$command.1"
done
for shell in bash elvish fish powershell zsh; do
    "$zs" completions "$shell" >"$out/$name/completions/zs.$shell"
done
cd "$out"
tar -czf "$name.tar.gz" "$name"
rm -r "$name"
# macOS has no sha256sum.
sum=$(command -v sha256sum || echo shasum -a 256)
$sum "$name.tar.gz" >"$name.sha256"
