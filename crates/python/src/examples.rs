//! Owns the examples of docstrings: `stubs/examples.txt`, by the names of functions and methods. It does not
//! know what they show; `test_examples.py` runs them.

use std::collections::HashMap;
use std::sync::OnceLock;

/// Sessions under lines with names: `# abs absolute`. A session calls the first of them.
const SESSIONS: &str = include_str!("../stubs/examples.txt");

/// The example of a function or method, calling it by this name; empty if there is none.
pub(crate) fn of(name: &str) -> String {
    static BY_NAME: OnceLock<HashMap<&str, (&str, &str)>> = OnceLock::new();
    let by_name = BY_NAME.get_or_init(|| {
        let sessions = SESSIONS.split("\n# ").skip(1).filter_map(|entry| entry.split_once('\n'));
        let named = |(names, session): (&'static str, &'static str)| {
            let first = names.split(' ').next().unwrap_or(names);
            names.split(' ').map(move |name| (name, (first, session.trim_end())))
        };
        sessions.flat_map(named).collect()
    });
    let session = |&(first, session): &(&str, &str)| {
        if first == name {
            session.to_owned()
        } else {
            session.replace(&format!(".{first}("), &format!(".{name}("))
        }
    };
    by_name.get(name).map_or_else(String::new, session)
}
