#!/usr/bin/env bash
# Packs `zs` for people without Rust, so that one `tar` into ~/.local or /usr/local installs it: the binary,
# its manual pages in English and Italian, completions where shells look for them, and its licences. The
# archive zs-TARGET.tar.gz and its checksum are written into the folder OUT.
set -euo pipefail
target=${1:?usage: archive.sh TARGET FOLDER-WITH-ZS OUT}
folder=${2:?}
out=${3:?}
zs=$folder/zs
[ -e "$zs" ] || zs=$folder/zs.exe
name=zs-$target
here=$(cd "$(dirname "$0")/.." && pwd)
root=$out/$name
put() { # put FOLDER FILE COMMAND...: what the command prints, as a file
    mkdir -p "$root/$1"
    "${@:3}" >"$root/$1/$2"
}
mkdir -p "$root/bin" "$root/share/doc/zs"
cp "$zs" "$root/bin"
cp "$here"/LICENSE-* "$here/crates/cli/README.md" "$root/share/doc/zs"
for lang in en it; do
    export LC_ALL=$lang.UTF-8
    man=share/man/$lang/man1
    put "$man" zs.1 "$zs" man
    for command in explain eval info; do
        put "$man" "zs-$command.1" "$zs" man "$command"
    done
done
mv "$root/share/man/en/man1" "$root/share/man/man1"
rmdir "$root/share/man/en"
export LC_ALL=C
put share/bash-completion/completions zs "$zs" completions bash
put share/fish/vendor_completions.d zs.fish "$zs" completions fish
put share/zsh/site-functions _zs "$zs" completions zsh
put share/doc/zs zs.elv "$zs" completions elvish
put share/doc/zs zs.ps1 "$zs" completions powershell
cd "$out"
tar -czf "$name.tar.gz" "$name"
rm -r "$name"
# macOS has no sha256sum.
sum=$(command -v sha256sum || echo shasum -a 256)
$sum "$name.tar.gz" >"$name.sha256"
