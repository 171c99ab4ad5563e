//! Owns the comparison of instruction sets, and of families of processors: this test binary runs itself once
//! for each set that the processor has and once for each row of the tuning table, and all print the same
//! digests. How many cases there are: a minute's worth, or many more with `ZEROSTRIDE_LONG=1`.

use std::collections::BTreeMap;
use std::fmt::Arguments;
use std::hash::{DefaultHasher, Hasher};

use zerostride_emulator::again;
use zerostride_kernels::{Isa, Tuning};

const MARK: &str = "digest: ";

pub(crate) fn is_long() -> bool {
    std::env::var_os("ZEROSTRIDE_LONG").is_some()
}

/// What came out, by cases, in a few bytes each.
#[derive(Default)]
pub(crate) struct Digest(BTreeMap<String, DefaultHasher>);

impl Digest {
    pub(crate) fn add(&mut self, case: Arguments<'_>, outcome: &[u8]) {
        self.0.entry(case.to_string()).or_default().write(outcome);
    }

    pub(crate) fn print(self) {
        for (case, hasher) in self.0 {
            println!("{MARK}{case}: {:016x}", hasher.finish());
        }
    }
}

/// The digests that an ignored test prints with an environment variable set.
fn digests(test: &str, (variable, value): (&str, &str)) -> Vec<String> {
    let output =
        again().args([test, "--exact", "--ignored", "--nocapture"]).env(variable, value).output().unwrap();
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{test} with {variable}={value}: {}\n{err}", output.status);
    // The first one may stand behind the name of the test.
    out.lines().filter_map(|line| line.split_once(MARK)).map(|(_, digest)| digest.to_owned()).collect()
}

fn hold_to_portable(test: &str) {
    let portable = digests(test, ("ZEROSTRIDE_ISA", Isa::Portable.name()));
    assert!(!portable.is_empty(), "{test} has compared nothing");
    let others = Isa::ALL.into_iter().filter(|&isa| isa != Isa::Portable && isa.is_supported());
    let rows = Tuning::ALL.into_iter().filter(|&row| row != Tuning::active());
    let forced = others.map(|isa| ("ZEROSTRIDE_ISA", isa.name()));
    for forced in forced.chain(rows.map(|row| ("ZEROSTRIDE_PROCESSOR", row.name))) {
        let found = digests(test, forced);
        assert_eq!(found.len(), portable.len());
        let wrong: Vec<_> =
            std::iter::zip(&portable, &found).filter(|(a, b)| a != b).map(|(a, _)| a).collect();
        assert!(
            wrong.is_empty(),
            "{forced:?} differs from portable in {} cases: {:#?}",
            wrong.len(),
            &wrong[..wrong.len().min(40)]
        );
    }
}

#[test]
fn every_layout_of_every_operation_has_the_portable_bits() {
    hold_to_portable("every_layout::every_operation_of_every_dtype_in_every_layout");
}

#[test]
fn random_expressions_have_the_portable_bits() {
    hold_to_portable("random::random_expressions_on_any_number_of_threads");
}
