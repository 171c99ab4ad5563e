//! Owns the arguments of the linker: macOS's must accept that the functions of Python, which call the module,
//! are missing until Python loads it. It does not know what is built.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
