//! What a linker must hear to link a module whose functions of Python are there only once Python loads it.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
