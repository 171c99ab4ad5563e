//! Owns `docs/python/reference.md`, the reference of the Python package: the stubs (`stubs.rs`) as a page to
//! read, and the examples of docstrings. It does not know where the stubs' rows come from.

use std::fmt::Write;
use std::fs;

use crate::root;
use crate::stubs::{self, Row};

/// The file that is written, from the root of the repository.
pub(crate) const FILE: &str = "docs/python/reference.md";

const PACKAGE: &str = "crates/python/python/zerostride";

/// The examples of functions and methods, which their docstrings show too (`crates/python/src/examples.rs`).
const EXAMPLES: &str = "crates/python/stubs/examples.txt";

const INTRODUCTION: &str = "\
# Reference

Generated from the package's stubs by `cargo xtask gen`. Names, arguments and results are PyTorch's; `axis` and `keepdims` are
understood for `dim` and `keepdim`. An operand is a tensor, an array of NumPy, torch or JAX, or a number. `out` is a tensor or
an array that takes the result. [operations.md](../operations.md) says which dtypes each operation computes in.

Every function and method has an anchor of its name, as in `reference.md#add`, and an example, which is a test and stands in its
docstring too. The examples come after `import zerostride as zs`.
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
    let path = root().join(EXAMPLES);
    let sessions = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    let mut section = "";
    for row in rows.iter().filter(|row| is_shown(row, &rows)) {
        if row.section != section {
            section = &row.section;
            let _ = write!(text, "\n## {section}\n");
        }
        text += &entry(row, &rows, &sessions)?;
    }
    let described = described(&stubs::template()?);
    let own = own_sources()?;
    let fenced = |session: String| format!("```python\n{session}\n```\n");
    let shown = |name: &str| examples(name, &sources).or_else(|| documented(name, &own).map(fenced));
    text += "\n## Around computations\n\n| function | |\n|---|---|\n";
    for one in described.iter().filter(|one| one.members.is_empty() && one.heading.ends_with(')')) {
        let name = one.heading.split('(').next().unwrap_or_default();
        // Below, examples have a heading of this name.
        let anchor = match shown(name) {
            Some(_) => String::new(),
            None => anchor(name),
        };
        let _ = writeln!(text, "| {anchor}`{}` | {} |", one.heading, one.doc);
    }
    for one in &described {
        let name = one.heading.split('(').next().unwrap_or_default();
        if let (true, Some(examples)) = (one.heading.ends_with(')'), shown(name)) {
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
            let name = member.split('(').next().unwrap_or(member);
            // `real` is a function too, `html` a method of several classes: the first has the anchor.
            let is_there = [anchor(name), format!("\n### {name}\n")].iter().any(|first| text.contains(first));
            let anchor = if is_there { String::new() } else { anchor(name) };
            let _ = writeln!(text, "| {anchor}`{member}` | {doc} |");
        }
        let members = one
            .members
            .iter()
            .filter_map(|(member, _)| documented(member.split('(').next().unwrap_or(member), &own));
        let members: Vec<String> = members.collect();
        if !members.is_empty() {
            let _ = write!(text, "\n{}", fenced(members.join("\n")));
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

/// The package's Rust whose functions and methods have docstrings of their own.
fn own_sources() -> Result<String, String> {
    let read = |name| {
        let path = root().join("crates/python/src").join(name);
        fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))
    };
    ["tensor_methods.rs", "explain.rs", "threads.rs"].into_iter().map(read).collect()
}

/// The session in the comment above a function, or a getter of another name, in Rust.
fn documented(name: &str, source: &str) -> Option<String> {
    let starts = [format!("fn {name}("), format!("fn {name}<"), format!("#[getter({name})]")];
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let is_start =
        |line: &&str| starts.iter().any(|start| line.trim_start_matches("pub(crate) ").starts_with(start));
    let at = lines.iter().position(is_start)?;
    let above = lines[..at].iter().rev().take_while(|line| line.starts_with("///") || line.starts_with("#["));
    let mut comment: Vec<&str> =
        above.filter_map(|line| line.strip_prefix("///")).map(str::trim_start).collect();
    comment.reverse();
    let session = comment.iter().position(|line| line.starts_with(">>>"))?;
    Some(comment[session..].join("\n"))
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

/// Other names and in-place methods are shown beside the function of their name.
fn is_shown(row: &Row, rows: &[Row]) -> bool {
    let is_in_place =
        !row.function && row.name.strip_suffix('_').is_some_and(|name| find(name, rows).is_some());
    row.other_name_of.is_none() && !is_in_place
}

fn find<'a>(name: &str, rows: &'a [Row]) -> Option<&'a Row> {
    rows.iter().find(|row| row.name == name)
}

/// A function with its anchors, its call, its other names and methods, and its example.
fn entry(row: &Row, rows: &[Row], sessions: &str) -> Result<String, String> {
    let (name, doc) = (&row.name, &row.doc);
    let also: Vec<&str> = rows
        .iter()
        .filter(|other| other.other_name_of.as_ref() == Some(name))
        .map(|other| other.name.as_str())
        .collect();
    let names: Vec<&str> = std::iter::once(name.as_str()).chain(also.iter().copied()).collect();
    let in_place = names.iter().map(|name| format!("{name}_")).filter(|name| find(name, rows).is_some());
    let in_place: Vec<String> = in_place.collect();
    // The heading is the anchor of the first name.
    let anchored = also.iter().copied().chain(in_place.iter().map(String::as_str));
    let anchors: String = anchored.map(anchor).collect();
    let mut line = format!("{anchors}`{}`", call(row));
    let list = |names: &mut dyn Iterator<Item = &str>, dot| {
        names.map(|name| format!("`{dot}{name}`")).collect::<Vec<_>>().join(", ")
    };
    if !also.is_empty() {
        let _ = write!(line, ", also {}", list(&mut also.iter().copied(), ""));
    }
    let both = names.iter().copied().filter(|_| row.function && row.method);
    let methods = list(&mut both.chain(in_place.iter().map(String::as_str)), ".");
    if !methods.is_empty() {
        let _ = write!(line, "; as methods {methods}");
    }
    let example = session(name, sessions).ok_or_else(|| format!("{EXAMPLES} has no example of {name}"))?;
    Ok(format!("\n### {name}\n\n{line}\n\n{doc}\n\n```python\n{example}\n```\n"))
}

fn anchor(name: &str) -> String {
    format!("<a id=\"{name}\"></a>")
}

/// How a function is called, or a method that is no function.
fn call(row: &Row) -> String {
    let name = &row.name;
    let parameters: Vec<String> = row.parameters.iter().map(|parameter| plain(parameter)).collect();
    if row.function {
        return format!("{name}({})", parameters.join(", "));
    }
    let receiver = parameters.iter().position(|parameter| parameter == "input").unwrap_or(0);
    let others = parameters.iter().enumerate().filter(|(place, _)| *place != receiver);
    let others: Vec<&str> = others.map(|(_, parameter)| parameter.as_str()).collect();
    format!("x.{name}({})", others.join(", "))
}

/// The session under the names that begin with this one.
fn session<'a>(name: &str, sessions: &'a str) -> Option<&'a str> {
    let mut entries = sessions.split("\n# ").skip(1).filter_map(|entry| entry.split_once('\n'));
    let (_, session) = entries.find(|(names, _)| names.split(' ').next() == Some(name))?;
    Some(session.trim_end())
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
