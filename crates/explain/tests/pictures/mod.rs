//! Pictures that stand beside this file, so that they can be looked at, and must be what is drawn now.
//!
//! After a wanted change, `ZS_PICTURES=write cargo test -p zerostride-explain` writes the new ones; look at
//! them.

use std::path::Path;
use std::{env, fs};

use zerostride_explain::{Explanation, Lang};

/// The picture of that name is the one of this explanation.
pub(crate) fn assert_stands(name: &str, explanation: &Explanation) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/pictures/{name}.svg"));
    let now = explanation.svg(Lang::En);
    if env::var_os("ZS_PICTURES").is_some_and(|mode| mode == "write") {
        fs::write(&path, &now).expect("a picture can be written");
    }
    let stands = fs::read_to_string(&path).unwrap_or_default();
    assert!(stands == now, "{}: drawn otherwise now; ZS_PICTURES=write writes it anew", path.display());
}
