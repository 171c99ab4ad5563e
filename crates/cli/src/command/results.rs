//! Owns the results of `zs eval`: their names, and their text for people and programs. It does not know how
//! they are computed.

use std::io::{self, Write};

use serde_json::json;
use zerostride::{Expr, Tensor};

use crate::elements::{JSON, exact};
use crate::evaluate::{Fault, Part, Value, fields};
use crate::expr::{Ast, Kind, NodeId};
use crate::failure::Result;

/// Results and their names; one has none.
pub(super) struct Results {
    pub(super) names: Vec<String>,
    pub(super) exprs: Vec<Expr>,
}

impl Results {
    /// The results of an expression: `several` that are separated by commas, the parts of a tuple that has
    /// tensors, or one.
    pub(super) fn of(
        part: Part,
        several: bool,
        ast: &Ast,
        source: &str,
    ) -> std::result::Result<Results, Fault> {
        let mut results = Results { names: Vec::new(), exprs: Vec::new() };
        match part.value {
            Value::Sequence(items) if several || has_tensors(&items) => match &ast[ast.root()].kind {
                Kind::Tuple(ids) | Kind::List(ids) => {
                    for (&id, item) in ids.iter().zip(items) {
                        results.add(text(ast, id, source), item, ast, id)?;
                    }
                }
                _ => results.add_all("", items, ast, ast.root())?,
            },
            _ => {
                results.names.push(String::new());
                results.exprs.push(part.tensor()?);
            }
        }
        Ok(results)
    }

    fn add(&mut self, name: String, part: Part, ast: &Ast, id: NodeId) -> std::result::Result<(), Fault> {
        match part.value {
            Value::Sequence(items) if has_tensors(&items) => self.add_all(&name, items, ast, id),
            _ => {
                self.names.push(name);
                self.exprs.push(part.tensor()?);
                Ok(())
            }
        }
    }

    /// The results of a function, with the name of its call in front.
    fn add_all(
        &mut self,
        of: &str,
        items: Vec<Part>,
        ast: &Ast,
        id: NodeId,
    ) -> std::result::Result<(), Fault> {
        let fields = fields(&ast[id].kind);
        for (number, item) in items.into_iter().enumerate() {
            let name = match fields.and_then(|names| names.get(number).copied()) {
                Some(name) if of.is_empty() => name.to_owned(),
                Some(name) => format!("{of}.{name}"),
                None => format!("{of}[{number}]"),
            };
            self.add(name, item, ast, id)?;
        }
        Ok(())
    }
}

fn has_tensors(items: &[Part]) -> bool {
    items.iter().any(|item| match &item.value {
        Value::Tensor(_) => true,
        Value::Sequence(items) => has_tensors(items),
        _ => false,
    })
}

fn text(ast: &Ast, id: NodeId, source: &str) -> String {
    let span = ast[id].span;
    source[span.start..span.end].to_owned()
}

/// Prints results as PyTorch prints them, several with their names.
pub(super) fn print(names: &[String], tensors: &[Tensor], out: &mut dyn Write) -> io::Result<()> {
    for (name, tensor) in names.iter().zip(tensors) {
        if !name.is_empty() {
            writeln!(out, "{name}:")?;
        }
        writeln!(out, "{tensor}")?;
    }
    Ok(())
}

/// Prints results as a line of JSON: `data` are nested lists, complex numbers are pairs, and what JSON lacks
/// is a word: `"NaN"`, `"Infinity"`, `"-Infinity"`.
pub(super) fn print_json(names: &[String], tensors: &[Tensor], out: &mut dyn Write) -> Result {
    write!(out, "{{\"version\":1,\"results\":[")?;
    for (number, (name, tensor)) in names.iter().zip(tensors).enumerate() {
        let name = if name.is_empty() { serde_json::Value::Null } else { json!(name) };
        let (comma, dtype, shape) =
            (if number > 0 { "," } else { "" }, tensor.dtype(), json!(tensor.shape()));
        write!(out, "{comma}{{\"name\":{name},\"dtype\":\"{dtype}\",\"shape\":{shape},\"data\":")?;
        nested(&mut exact(tensor, &JSON)?.iter(), tensor.shape(), out)?;
        write!(out, "}}")?;
    }
    writeln!(out, "]}}")?;
    Ok(())
}

fn nested(
    elements: &mut std::slice::Iter<'_, String>,
    shape: &[usize],
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some((&size, inner)) = shape.split_first() else {
        return elements.next().map_or(Ok(()), |element| out.write_all(element.as_bytes()));
    };
    out.write_all(b"[")?;
    for number in 0..size {
        if number > 0 {
            out.write_all(b",")?;
        }
        nested(elements, inner, out)?;
    }
    out.write_all(b"]")
}
