//! Forces each row of the tuning table. The engine's tests run on each of them.

use std::env;

use zerostride_emulator::again;
use zerostride_kernels::Tuning;

#[test]
fn every_row_can_be_forced() {
    for row in Tuning::ALL {
        let output = again()
            .args(["--exact", "processors::a_row_is_in_use"])
            .env("ZEROSTRIDE_PROCESSOR", row.name)
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{}: {text}", row.name);
    }
}

#[test]
fn a_row_is_in_use() {
    let asked = env::var("ZEROSTRIDE_PROCESSOR");
    assert!(asked.is_err() || asked.as_deref() == Ok(Tuning::active().name));
}

#[test]
fn a_row_that_does_not_exist_is_refused() {
    let output = again()
        .args(["--exact", "processors::a_row_is_in_use"])
        .env("ZEROSTRIDE_PROCESSOR", "zen9")
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(!output.status.success() && text.contains("there are generic, zen, zen5"), "{text}");
}
