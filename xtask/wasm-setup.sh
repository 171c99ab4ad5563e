#!/usr/bin/env bash
# Makes a Rust compiler for WebAssembly in a folder, from Debian's packages, where `rustup target add
# wasm32-unknown-unknown` is no way: the packages are unpacked, not installed, since they conflict with an
# installed rustc. 140 MB are downloaded once, and take 900 MB. `cargo xtask web` runs it where the target is
# missing.
set -euo pipefail
folder=${1:?usage: wasm-setup.sh FOLDER}
mkdir -p "$folder/packages" "$folder/root"
folder=$(cd "$folder" && pwd)
[ -x "$folder/root/usr/bin/rustc" ] && exit

# The newest compiler, the library of its version, its sources for building the standard library, and its
# LLVM.
version=$(apt-cache madison rustc-web | awk -F' *[|] *' '{ print $2 }' | sort -V | tail -n 1)
if [ -z "$version" ]; then
    echo "Debian's package lists have no rustc-web: run apt-get update, or rustup target add wasm32-unknown-unknown" >&2
    exit 1
fi
release=$(echo "$version" | cut -d . -f 1,2)
library="libstd-rust-web-$release=$version"
llvm=$(apt-cache show "$library" | grep -o 'libllvm[0-9]*' | head -n 1)
cd "$folder/packages"
apt-get download "rustc-web=$version" "libstd-rust-web-dev=$version" "$library" "rust-web-src=$version" "$llvm" >&2
for package in *.deb; do
    dpkg -x "$package" "$folder/root"
done
rm -r "$folder/packages"
