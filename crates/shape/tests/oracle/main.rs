//! Layouts against an oracle that knows no strides.

mod naive;
mod overlap;
mod views;

/// As many random cases as take about a second; what fails belongs into a test of its own, not into a file of
/// seeds.
fn cases() -> proptest::test_runner::Config {
    proptest::test_runner::Config { cases: 4096, failure_persistence: None, ..Default::default() }
}
