//! Owns `--policy` of `zs eval`: its rules, and the reports about the expression's text that objections
//! become. It does not know what a broadcast is, which the engine decides.

use zerostride::policy::{self, Action, Class, Objection, Policy};
use zerostride::{Error, Op};
use zerostride_explain::{Explanation, Operand, Options};

use crate::bytes;
use crate::expr::{Ast, Kind, Node, NodeId, Span, parse};
use crate::failure::Report;
use crate::operand_name::operand_name;
use crate::report;
use crate::words::{engine, say};

/// The file name under which a node of the expression appears to the engine as a caller; its line is the
/// node's position.
const NODE: &str = "expression";

/// One `--policy RULE=ACTION`.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Rule {
    /// What to do about a class.
    Class(Class, Action),
    /// `max_bytes=SIZE`, the limit of `blow_up`.
    MaxBytes(u64),
}

/// Parses `mutual_stretch=error` or `max_bytes=2GiB`.
pub(crate) fn read(text: &str) -> Result<Rule, String> {
    let (rule, action) = text.split_once('=').ok_or_else(|| say!("rule-is-written"))?;
    match rule {
        "max_bytes" => bytes::read(action).map(Rule::MaxBytes),
        _ => {
            let class = rule.parse().map_err(|_: policy::UnknownClass| {
                let [names @ .., last] = Class::ALL.map(|class| class.name());
                let names = say!("and", first = names.join(", "), last = last);
                say!("policy-classes", names = names)
            })?;
            let action = action.parse().map_err(|_: policy::UnknownAction| say!("policy-actions"))?;
            Ok(Rule::Class(class, action))
        }
    }
}

/// The policy of all rules; for a class, the last one counts.
pub(crate) fn of_rules(rules: &[Rule]) -> Policy {
    let sorted = rules.iter().filter(|rule| matches!(rule, Rule::Class(..)));
    let limits = rules.iter().filter(|rule| matches!(rule, Rule::MaxBytes(_)));
    sorted.chain(limits).fold(Policy::new(), |policy, rule| match *rule {
        Rule::Class(class, action) => policy.with(class, action),
        Rule::MaxBytes(bytes) => policy.max_bytes(bytes.into()),
    })
}

/// Runs `work` with a node of the expression as its caller.
pub(crate) fn in_name_of<R>(place: usize, work: impl FnOnce() -> R) -> R {
    policy::at(policy::Caller::new(NODE, place as u32), work)
}

/// Draws warnings when they arise, under the part of the expression that they are about.
pub(crate) fn draw_warnings(source: &str) {
    let source = source.to_owned();
    policy::set_hook(move |objection| {
        let mut report = Report { message: engine::objection(objection), ..report(objection, &source) };
        for repair in report.explanation.take().iter().flat_map(Explanation::alternatives) {
            report = report.help(say!("element-by-element", call = &*repair.call));
        }
        // If standard error is closed, no warning can be shown.
        let _ = report::draw_warning(&report, &mut anstream::stderr().lock());
    });
}

/// An objection as a report about the expression's text.
pub(crate) fn report(objection: &Objection, source: &str) -> Report {
    let report = Report::of_engine(&Error::Policy(Box::new(objection.clone())));
    let caller = &objection.record.caller;
    // The text has been parsed before, so this succeeds.
    let Some(ast) = parse(source).ok().filter(|_| caller.file() == NODE) else { return report };
    let Some(node) = ast.nodes().get(caller.line() as usize) else { return report };
    let explanation = Some(explanation(objection, &operands(&ast, node), source));
    Report { explanation, ..report.excerpt(source, node.span) }
}

/// The operands' shapes, under their texts in the expression as names.
fn explanation(objection: &Objection, spans: &[Span], source: &str) -> Explanation {
    let shapes = &objection.record.shapes;
    let names = (spans.len() == shapes.len()).then_some(spans).into_iter().flatten();
    let names = names.map(|span| operand_name(source, *span)).chain(std::iter::repeat(None));
    let operands = shapes.iter().zip(names).map(|(shape, name)| Operand { name, ..Operand::new(shape) });
    let op = Op::from_name(&objection.record.op);
    Explanation::new(operands.collect(), Options { op, max_bytes: objection.max_bytes, ..Options::default() })
}

/// The spans of a node's operands other than bare numbers.
fn operands(ast: &Ast, node: &Node) -> Vec<Span> {
    let ids: Vec<NodeId> = match &node.kind {
        Kind::Binary(_, left, right) => vec![*left, *right],
        Kind::Call(call) => {
            call.receiver.into_iter().chain(call.arguments.iter().map(|one| one.value)).collect()
        }
        _ => Vec::new(),
    };
    let nodes = ids.into_iter().map(|id| &ast[id]);
    nodes
        .filter(|node| !matches!(node.kind, Kind::Number(_) | Kind::Unsigned(_)))
        .map(|node| node.span)
        .collect()
}
