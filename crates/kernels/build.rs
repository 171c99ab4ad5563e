//! Tells the crate whether the compiler optimises it (`cfg(unoptimised)`), which the choice among instruction
//! sets asks, and
//! whether printed rows become functions on the target (`cfg(has_code)`), which `src/native.rs` asks.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(unoptimised)");
    println!("cargo::rustc-check-cfg=cfg(has_code)");
    if var("OPT_LEVEL").is_ok_and(|level| level == "0") {
        println!("cargo::rustc-cfg=unoptimised");
    }
    let of_target = |name: &str| var(format!("CARGO_CFG_TARGET_{name}")).unwrap_or_default();
    let has_code = match of_target("ARCH").as_str() {
        "x86_64" => matches!(of_target("FAMILY").as_str(), "unix" | "windows"),
        "aarch64" => of_target("OS") == "linux" && of_target("ENDIAN") == "little",
        _ => false,
    };
    if has_code {
        println!("cargo::rustc-cfg=has_code");
    }
}
