//! No text makes the parser of `zs eval` panic or overflow, and what it says about a text stands within the
//! text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use zerostride_cli::expr::{Item, Kind, MAX_NODES, Node, NodeId, Span, parse};

/// The nodes that a node uses.
fn operands(node: &Node) -> Vec<NodeId> {
    match &node.kind {
        Kind::Number(_) | Kind::None | Kind::Word(_) | Kind::Name(_) => Vec::new(),
        Kind::List(ids) | Kind::Tuple(ids) => ids.clone(),
        Kind::Unary(_, id) | Kind::Attribute(id, _) => vec![*id],
        Kind::Binary(_, left, right) => vec![*left, *right],
        Kind::Call(call) => {
            call.receiver.into_iter().chain(call.arguments.iter().map(|argument| argument.value)).collect()
        }
        Kind::Index(id, items) => {
            let parts = items.iter().flat_map(|item| match item {
                Item::At(id) => vec![*id],
                Item::Slice { parts, .. } => parts.iter().flatten().copied().collect(),
                Item::Ellipsis(_) => Vec::new(),
            });
            std::iter::once(*id).chain(parts).collect()
        }
    }
}

fn text<'a>(source: &'a str, span: Span) -> &'a str {
    source.get(span.start..span.end).expect("a span lies within the text, between characters")
}

fuzz_target!(|source: &str| {
    match parse(source) {
        Err(problem) => {
            text(source, problem.span);
            assert!(!problem.message.is_empty());
        }
        Ok(ast) => {
            assert!(ast.nodes().len() <= MAX_NODES);
            let mut used = vec![0; ast.nodes().len()];
            for (at, node) in ast.nodes().iter().enumerate() {
                assert!(!text(source, node.span).is_empty());
                for id in operands(node) {
                    assert!(id.index() < at, "operands come first");
                    used[id.index()] += 1;
                }
            }
            // A tree: every node but the last one is used exactly once.
            assert_eq!(used.pop(), Some(0));
            assert!(used.iter().all(|&count| count == 1));
            // A part that is read alone is the same part. Parentheses belong to no node, so that binary
            // operators and their like may begin or end without one of theirs.
            for node in ast.nodes() {
                if matches!(node.kind, Kind::Number(_) | Kind::Name(_) | Kind::Word(_) | Kind::List(_)) {
                    let alone = parse(text(source, node.span)).expect("a leaf or list is an expression");
                    assert_eq!(
                        std::mem::discriminant(&alone[alone.root()].kind),
                        std::mem::discriminant(&node.kind)
                    );
                }
            }
        }
    }
});
