//! A mismatch of constant shapes is a compile error that reads like the run-time one.

#[test]
fn constant_shapes_that_do_not_broadcast_do_not_compile() {
    let cases = trybuild::TestCases::new();
    cases.pass("tests/ui/broadcasts.rs");
    cases.compile_fail("tests/ui/mismatch.rs");
}
