//! Has `ptxas` assemble what is printed, for two generations of GPUs. `ZEROSTRIDE_PTXAS` names it, or `PATH`
//! has it; without it nothing is held to it, and the tests say so.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use zerostride_code::Code;
use zerostride_code::print::ptx::{Argument, MapLoop, map};
use zerostride_ops::{DType, Reduction};

use super::super::record;
use super::{layouts, products, reductions, stored_results};

/// Ampere and Hopper.
const GENERATIONS: [&str; 2] = ["sm_80", "sm_90"];

/// The assembler, if there is one.
fn assembler() -> Option<PathBuf> {
    let named = env::var_os("ZEROSTRIDE_PTXAS").map(PathBuf::from);
    let paths = env::var_os("PATH").unwrap_or_default();
    let found = || env::split_paths(&paths).map(|folder| folder.join("ptxas")).find(|path| path.is_file());
    let assembler = named.or_else(found);
    if assembler.is_none() {
        eprintln!("left out: no ptxas in PATH, and ZEROSTRIDE_PTXAS does not name one");
    }
    assembler
}

/// Assembles a module for each generation.
fn assemble(assembler: &Path, text: &str, file: &str) {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(file);
    fs::write(&path, text).expect("a file for the assembler");
    for generation in GENERATIONS {
        let mut command = Command::new(assembler);
        command.arg(format!("-arch={generation}")).arg(&path).args(["-o", "/dev/null"]);
        let output = command.output().expect("the assembler runs");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.is_empty(), "{generation}: {said}\n{text}");
    }
}

/// A kernel of contiguous elements, with four a thread or one.
fn kernel(code: &Code, is_wide: bool) -> String {
    let one = |ty| {
        let own = super::element_bytes(ty) as u64;
        Argument::Elements { address: if is_wide { 0 } else { own }, strides: vec![own as i64] }
    };
    let operands = code.inputs().iter().copied().chain(stored_results(code)).map(one).collect();
    let loops = MapLoop { sizes: vec![4], operands };
    let form = loops.form(code).expect("a loop that can be printed");
    map(code, &form).expect("a loop that can be printed").text
}

#[test]
fn every_operation_is_assembled() {
    let Some(assembler) = assembler() else { return };
    record::each_operation(|recording| {
        let is_long = recording.code.instructions().len() > 400;
        assemble(&assembler, &kernel(&recording.code, !is_long), "operation.ptx");
    });
}

#[test]
fn every_conversion_is_assembled() {
    let Some(assembler) = assembler() else { return };
    record::each_conversion(|recording| {
        assemble(&assembler, &kernel(&recording.code, true), "conversion.ptx");
    });
}

#[test]
fn loops_of_any_layout_reductions_and_products_are_assembled() {
    let Some(assembler) = assembler() else { return };
    for seed in 0..100 {
        assemble(&assembler, &layouts::kernel(seed), "layout.ptx");
    }
    for op in [Reduction::Sum, Reduction::Prod, Reduction::Amax, Reduction::Amin, Reduction::Var] {
        for dtype in [DType::F32, DType::F64] {
            for text in reductions::kernels(op, dtype) {
                assemble(&assembler, &text, "reduction.ptx");
            }
        }
    }
    for dtype in DType::ALL.into_iter().filter(|dtype| *dtype != DType::Bool) {
        for text in products::kernels(dtype) {
            assemble(&assembler, &text, "product.ptx");
        }
    }
}
