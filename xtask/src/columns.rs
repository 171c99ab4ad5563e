//! Owns the rule that comments and Markdown end at column 110, which rustfmt does not enforce. Code, tables
//! and lines without a blank to break at may be longer. It does not know which files there are.

/// The last column of a comment or of a line of Markdown, as in `rustfmt.toml`.
const COLUMNS: usize = 110;

/// The beginnings of comments by the ending of a file's name; the longer ones first.
const COMMENTS: [(&str, &[&str]); 6] = [
    ("rs", &["///", "//!", "//"]),
    ("js", &["//"]),
    ("py", &["#"]),
    ("toml", &["#"]),
    ("sh", &["#"]),
    ("md", &[""]),
];

/// The file endings that the rule applies to.
pub(crate) fn endings() -> impl Iterator<Item = &'static str> {
    COMMENTS.iter().map(|(ending, _)| *ending)
}

/// The numbers of lines that are too long and could be broken.
pub(crate) fn too_long(ending: &str, text: &str) -> Vec<usize> {
    let marks = COMMENTS.iter().find(|(known, _)| *known == ending).map_or(&[][..], |(_, marks)| marks);
    let mut found = Vec::new();
    let mut is_code = false;
    for (index, line) in text.lines().enumerate() {
        let Some(body) = marks.iter().find_map(|mark| line.trim_start().strip_prefix(mark)) else {
            // A code block ends at the latest with its comment.
            is_code = false;
            continue;
        };
        if body.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code && !body.trim_start().starts_with('|') && is_too_long(line, body) {
            found.push(index + 1);
        }
    }
    found
}

/// Whether the line is too long and has a blank to break at, other than that of a list marker.
fn is_too_long(line: &str, body: &str) -> bool {
    let length = line.chars().count();
    let words = body.trim_start();
    let words = ["- ", "* "].iter().find_map(|mark| words.strip_prefix(mark)).unwrap_or(words);
    let first = length - words.chars().count();
    length > COLUMNS && words.chars().take((COLUMNS + 1).saturating_sub(first)).any(|letter| letter == ' ')
}

#[cfg(test)]
mod tests {
    use super::too_long;

    const LONG: &str = "words that go on and on, as nobody would want to read them in a window that is only so wide, up \
                        to the end of the line";

    #[test]
    fn comments_and_paragraphs_end_at_the_last_column() {
        assert_eq!(too_long("rs", &format!("fn f() {{}}\n    /// {LONG}\n// short\n//! {LONG}")), [2, 4]);
        assert_eq!(too_long("py", &format!("# {LONG}\nx = 1  # {LONG}")), [1]);
        assert_eq!(too_long("md", &format!("- {LONG}\n\n{LONG}")), [1, 3]);
        assert_eq!(too_long("md", &"e".repeat(110)), [0; 0]);
    }

    #[test]
    fn code_tables_and_what_cannot_be_broken_may_be_longer() {
        let link = format!("https://{}", "e".repeat(110));
        assert_eq!(too_long("rs", &format!("let long = \"{LONG}\";\n/// ```\n/// {LONG}\n/// ```")), [0; 0]);
        assert_eq!(
            too_long("md", &format!("```\n{LONG}\n```\n| {LONG} |\n{link}\n- {link} and more")),
            [0; 0]
        );
    }
}
