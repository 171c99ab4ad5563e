//! Owns what an explanation calls an operand: its text in the expression. It does not know what is explained.

use crate::expr::{Kind, Span, parse};

/// The name of an operand in the explanation: its text, if that is short enough for a table.
pub(crate) fn operand_name(source: &str, span: Span) -> Option<String> {
    let text = &source[span.start..span.end];
    if text.len() > 16 || text.contains('\n') {
        return None;
    }
    // Spans do not include parentheses, but `(a + b).t()` needs them.
    let ast = parse(text).ok()?;
    Some(match ast[ast.root()].kind {
        Kind::Unary(..) | Kind::Binary(..) => format!("({text})"),
        _ => text.to_owned(),
    })
}
