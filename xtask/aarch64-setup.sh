#!/usr/bin/env bash
# Installs what `cargo xtask test --aarch64` needs on Debian or Ubuntu for x86-64: Rust's aarch64 standard
# library, a linker with its C library, and an emulator. Asks for root only for packages that are missing.
# About 300 MB.
set -euo pipefail
rustup target add aarch64-unknown-linux-gnu
missing=()
command -v aarch64-linux-gnu-gcc >/dev/null || missing+=(gcc-aarch64-linux-gnu)
[ -e /usr/aarch64-linux-gnu/lib/libc.so.6 ] || missing+=(libc6-dev-arm64-cross)
command -v qemu-aarch64 >/dev/null || missing+=(qemu-user)
if [ ${#missing[@]} -gt 0 ]; then
    root=$([ "$(id -u)" -eq 0 ] || echo sudo)
    $root apt-get update -q
    $root apt-get install -y -q --no-install-recommends "${missing[@]}"
fi
