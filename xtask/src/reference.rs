//! Owns `docs/python/reference.md`, the reference of the Python package: the stubs (`stubs.rs`) as a page to
//! read, and the examples of docstrings. It does not know where the stubs' rows come from.

use std::fmt::Write;
use std::fs;

use crate::root;
use crate::stubs::{self, Row};

/// The file that is written, from the root of the repository.
pub(crate) const FILE: &str = "docs/python/reference.md";

const PACKAGE: &str = "crates/python/python/zerostride";

const INTRODUCTION: &str = "\
# Reference

Generated from the package's stubs by `cargo xtask gen`. Names, arguments and results are PyTorch's; `axis` and `keepdims` are
understood for `dim` and `keepdim`. An operand is a tensor, an array of NumPy, torch or JAX, or a number. `out` is a tensor or
an array that takes the result. [operations.md](../operations.md) says which dtypes each operation computes in.
";

/// A class or function of the template: its heading, its sentence, and its members.
#[derive(Default)]
struct Described {
    heading: String,
    doc: String,
    members: Vec<(String, String)>,
}

/// The page as it should be.
pub(crate) fn text() -> Result<String, String> {
    let mut text = INTRODUCTION.to_owned();
    let (rows, sources) = (stubs::rows()?, sources()?);
    let mut section = "";
    for row in &rows {
        if is_shown(row, &rows) {
            if row.section != section {
                section = &row.section;
                let _ = write!(text, "\n## {section}\n\n| function | method | |\n|---|---|---|\n");
            }
            let _ = writeln!(text, "{}", line(row, &rows));
        }
    }
    let described = described(&stubs::template()?);
    text += "\n## Around computations\n\n| function | |\n|---|---|\n";
    for one in described.iter().filter(|one| one.members.is_empty() && one.heading.ends_with(')')) {
        let name = one.heading.split('(').next().unwrap_or_default();
        // Below, examples have a heading of this name.
        let anchor = match examples(name, &sources) {
            Some(_) => String::new(),
            None => format!("<a id=\"{name}\"></a>"),
        };
        let _ = writeln!(text, "| {anchor}`{}` | {} |", one.heading, one.doc);
    }
    for one in &described {
        let name = one.heading.split('(').next().unwrap_or_default();
        if let (true, Some(examples)) = (one.heading.ends_with(')'), examples(name, &sources)) {
            let _ = write!(text, "\n### {name}\n\n{examples}");
        }
    }
    text += "\n## Classes\n";
    for one in described.iter().filter(|one| !one.members.is_empty() || !one.heading.ends_with(')')) {
        let _ = write!(text, "\n### {}\n\n{}\n", one.heading, one.doc);
        if !one.members.is_empty() {
            text += "\n| | |\n|---|---|\n";
        }
        for (member, doc) in &one.members {
            let _ = writeln!(text, "| `{member}` | {doc} |");
        }
        if let Some(examples) = examples(&one.heading, &sources) {
            let _ = write!(text, "\n{examples}");
        }
    }
    Ok(text)
}

/// The package's Python, whose docstrings have examples, which are tests.
fn sources() -> Result<String, String> {
    let folder = root().join(PACKAGE);
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut paths: Vec<_> =
        fs::read_dir(&folder).map_err(failed)?.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let paths = paths.iter().filter(|path| path.extension().is_some_and(|ending| ending == "py"));
    paths.map(|path| fs::read_to_string(path).map_err(failed)).collect()
}

/// The examples of a function's or a class's docstring.
fn examples(name: &str, sources: &str) -> Option<String> {
    let start = ["def", "class"].iter().find_map(|kind| sources.find(&format!("\n{kind} {name}(")))?;
    let docstring = sources[start..].split("\"\"\"").nth(1)?;
    let paragraphs = docstring.split("\n\n").filter(|paragraph| paragraph.trim_start().starts_with(">>>"));
    let examples: Vec<String> = paragraphs
        .map(|paragraph| {
            let lines = paragraph.lines().map(|line| line.strip_prefix("    ").unwrap_or(line).trim_end());
            lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
        })
        .collect();
    (!examples.is_empty()).then(|| format!("```python\n{}\n```\n", examples.join("\n\n")))
}

/// In-place methods are shown beside the function of their name.
fn is_shown(row: &Row, rows: &[Row]) -> bool {
    row.function || row.name.strip_suffix('_').is_none_or(|name| find(name, rows).is_none())
}

fn find<'a>(name: &str, rows: &'a [Row]) -> Option<&'a Row> {
    rows.iter().find(|row| row.name == name)
}

fn line(row: &Row, rows: &[Row]) -> String {
    let name = &row.name;
    let call = format!(
        "<a id=\"{name}\"></a>`{name}({})`",
        row.parameters.iter().map(|parameter| plain(parameter)).collect::<Vec<_>>().join(", ")
    );
    let mut methods = Vec::new();
    if row.method {
        methods.push(format!("`.{name}`"));
    }
    let in_place = format!("{name}_");
    if find(&in_place, rows).is_some() {
        methods.push(format!("`.{in_place}`"));
    }
    let function = if row.function { call } else { String::new() };
    format!("| {function} | {} | {} |", methods.join(" "), row.doc.replace('|', "\\|"))
}

/// A parameter without its type, as in `dim=None`.
fn plain(parameter: &str) -> String {
    let (before, default) = parameter.split_once(" = ").map_or((parameter, None), |(a, b)| (a, Some(b)));
    let name = before.split_once(':').map_or(before, |(name, _)| name);
    default.map_or_else(|| name.to_owned(), |default| format!("{name}={default}"))
}

/// The declarations of the template that have a docstring.
fn described(template: &str) -> Vec<Described> {
    let mut all: Vec<Described> = Vec::new();
    let mut declaration = String::new();
    let mut is_property = false;
    for line in template.lines() {
        let words = line.trim();
        let is_open = !declaration.is_empty() && !declaration.ends_with(':');
        if is_open || words.starts_with("class ") || words.starts_with("def ") {
            // A declaration can continue over several lines.
            declaration = if is_open { declaration + words + " " } else { line.to_owned() };
            declaration.truncate(declaration.trim_end().len());
            if declaration.ends_with("...") {
                (declaration, is_property) = (String::new(), false);
            } else if !declaration.ends_with(':') {
                declaration.push(' ');
            }
        } else if words == "@property" {
            is_property = true;
        } else if let Some(doc) = words.strip_prefix("\"\"\"") {
            let doc = doc.trim_end_matches('"').replace("``", "`");
            let heading = heading(&declaration, is_property);
            let is_member = declaration.starts_with(' ');
            match all.last_mut() {
                Some(class) if is_member => class.members.push((heading, doc)),
                _ => all.push(Described { heading, doc, members: Vec::new() }),
            }
            (declaration, is_property) = (String::new(), false);
        }
    }
    all
}

/// A class or property by its name, a function with its parameters.
fn heading(declaration: &str, is_property: bool) -> String {
    let declaration = declaration.trim().trim_end_matches(':');
    if let Some(class) = declaration.strip_prefix("class ") {
        let name = class.split('(').next().unwrap_or(class);
        return if name == "_Operations" { "Tensor and Expr".to_owned() } else { name.to_owned() };
    }
    let function = declaration.trim_start_matches("def ");
    let (name, rest) = function.split_once('(').unwrap_or((function, ""));
    if is_property {
        return name.to_owned();
    }
    let parameters = rest.rsplit_once(") ->").map_or(rest, |(parameters, _)| parameters);
    let parameters = top_level(parameters).into_iter().map(plain).filter(|name| name != "self");
    format!("{name}({})", parameters.collect::<Vec<_>>().join(", "))
}

/// Splits parameters at the commas outside brackets.
fn top_level(parameters: &str) -> Vec<&str> {
    let mut depth = 0i32;
    let parts = parameters.split(|letter: char| {
        depth += i32::from("[(".contains(letter)) - i32::from("])".contains(letter));
        letter == ',' && depth == 0
    });
    parts.map(str::trim).filter(|part| !part.is_empty()).collect()
}
