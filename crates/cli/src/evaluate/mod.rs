//! Owns the step from a syntax tree to an expression of the engine: operators and names become operations. It
//! does not know how an expression runs.
//!
//! The nodes are visited in the order of the tree's list, operands first, without recursion. Only arithmetic
//! on bare numbers is computed here, and what moves elements; the rest becomes an `Expr`, which the engine
//! runs in one go. Shape and dtype are checked after every node, so that an error is reported at the part of
//! the text that causes it.

mod arguments;
mod bindings;
mod budget;
mod dry;
mod dtypes;
mod fault;
mod fields;
mod functions;
mod index;
mod names;
mod number;
mod operation;
mod statistics;
mod value;

use zerostride::{Expr, Op};

pub(crate) use bindings::{Bindings, has_meaning};
pub(crate) use budget::Budget;
pub(crate) use dry::stand_in;
pub(crate) use dtypes::dtype;
pub(crate) use fault::{Fault, refused};
pub(crate) use fields::fields;
pub(crate) use functions::{is_product, listing};
pub(crate) use names::{closest_dtype, closest_operation, is_function};
pub(crate) use value::{Part, Value};

use crate::expr::{Ast, Binary, Call, Item, Kind, Name, Node, NodeId, Problem, Span};
use crate::policy;
use crate::words::say;
use arguments::Given;
use bindings::constant;
use index::Step;

/// Evaluates a syntax tree to an expression of the engine.
///
/// # Errors
/// A name or argument is unknown, or shapes or dtypes do not fit.
pub(crate) fn evaluate(ast: &Ast, bindings: &Bindings, budget: &Budget) -> Result<Part, Fault> {
    let mut walk = Walk { ast, bindings, budget, values: Vec::with_capacity(ast.nodes().len()) };
    for (place, node) in ast.nodes().iter().enumerate() {
        let value = policy::in_name_of(place, || walk.node(node))?;
        if let Value::Tensor(expr) = &value {
            expr.shape().map_err(|error| Fault::engine(error, node.span))?;
        }
        walk.values.push(Some(Part { value, span: node.span }));
    }
    Ok(walk.take(ast.root()))
}

/// Whether a method writes to its receiver.
pub(crate) fn is_in_place(method: &str) -> bool {
    operation::in_place(method).is_some()
}

struct Walk<'a> {
    ast: &'a Ast,
    bindings: &'a Bindings,
    budget: &'a Budget,
    /// The values of the nodes so far; each is taken by the only node that uses it.
    values: Vec<Option<Part>>,
}

impl Walk<'_> {
    fn take(&mut self, id: NodeId) -> Part {
        self.values[id.index()].take().expect("a node comes after its operands, which are used once")
    }

    fn take_all(&mut self, ids: &[NodeId]) -> Vec<Part> {
        ids.iter().map(|&id| self.take(id)).collect()
    }

    fn node(&mut self, node: &Node) -> Result<Value, Fault> {
        match &node.kind {
            Kind::Number(number) => Ok(Value::Number(*number)),
            Kind::Unsigned(number) => Ok(Value::Unsigned(*number)),
            Kind::None => Ok(Value::None),
            Kind::Word(word) => Ok(Value::Word(word.to_string())),
            Kind::Name(name) => self.name(name, node.span),
            Kind::List(ids) | Kind::Tuple(ids) => Ok(Value::Sequence(self.take_all(ids))),
            Kind::Unary(op, operand) => {
                let operand = self.take(*operand);
                match operand.value {
                    Value::Number(number) => number::unary(*op, number)
                        .map(Value::Number)
                        .map_err(|text| Problem::new(text, node.span).into()),
                    _ => operation::operator(*op, vec![operand], node.span),
                }
            }
            Kind::Binary(op, left, right) => {
                let (left, right) = (self.take(*left), self.take(*right));
                self.binary(*op, left, right, node.span)
            }
            Kind::Call(call) => self.call(call, node.span),
            Kind::Attribute(id, name) => {
                let part = self.take(*id);
                match (&part.value, fields(&self.ast[*id].kind)) {
                    (Value::Sequence(results), Some(fields)) => field(results, fields, name),
                    _ => attribute(part, name, node.span),
                }
            }
            Kind::Index(id, items) => {
                let of = self.take(*id);
                let steps = items.iter().map(|item| self.step(item)).collect();
                index::apply(of, steps, node.span, self.budget)
            }
        }
    }

    fn name(&self, name: &str, span: Span) -> Result<Value, Fault> {
        match self.bindings.get(name).cloned().or_else(|| constant(name)) {
            Some(value) => Ok(value),
            None => Err(names::unknown(name, span, self.bindings.keys().map(String::as_str)).into()),
        }
    }

    fn binary(&self, op: Binary, left: Part, right: Part, span: Span) -> Result<Value, Fault> {
        match (op, &left.value, &right.value) {
            (Binary::Op(op), &Value::Number(a), &Value::Number(b)) => {
                number::binary(op, a, b).map(Value::Number).map_err(|text| Problem::new(text, span).into())
            }
            (Binary::Op(op), ..) => operation::operator(op, vec![left, right], span),
            (Binary::Matmul, ..) => operation::matmul(left, right).map(Value::Tensor),
        }
    }

    fn call(&mut self, call: &Call, span: Span) -> Result<Value, Fault> {
        let Call { receiver, function: Name { text: function, span: name_span }, arguments } = call;
        let mut given = Given { positional: Vec::new(), named: Vec::new(), span, method: receiver.is_some() };
        given.positional.extend(receiver.map(|id| self.take(id)));
        for argument in arguments {
            let part = self.take(argument.value);
            match &argument.keyword {
                Some(name) => given.named.push((name.clone(), part)),
                None => given.positional.push(part),
            }
        }
        if let Some(op) = Op::from_name(function) {
            return operation::call(op, given);
        }
        if let Some(op) = operation::in_place(function) {
            return operation::write(op, given, self.budget);
        }
        match functions::find(function) {
            Some(function) => function.call(given, self.budget),
            None => Err(names::unknown_function(function, *name_span, self.bindings).into()),
        }
    }

    fn step(&mut self, item: &Item) -> Step {
        match item {
            Item::At(id) => Step::At(self.take(*id)),
            Item::Slice { parts, .. } => Step::Slice(parts.map(|part| part.map(|id| self.take(id)))),
            Item::Ellipsis(_) => Step::Ellipsis,
        }
    }
}

/// One of several results by its name, as in `x.sort().values`.
fn field(results: &[Part], fields: [&str; 2], name: &Name) -> Result<Value, Fault> {
    let place = fields.iter().position(|field| *field == &*name.text);
    match place.and_then(|place| results.get(place)) {
        Some(result) => Ok(result.value.clone()),
        None => {
            let problem = Problem::new(say!("unknown-attribute", name = &*name.text), name.span);
            Err(problem.help(say!("there-are", names = format!(".{}, .{}", fields[0], fields[1]))).into())
        }
    }
}

/// `x.T` and other attributes.
fn attribute(part: Part, name: &Name, span: Span) -> Result<Value, Fault> {
    let tensor = |part: Part| part.tensor();
    let view = match &*name.text {
        "T" => reversed(&tensor(part)?).map_err(|error| Fault::engine(error, span))?,
        "mT" => tensor(part)?.matrix_transpose(),
        "real" => tensor(part)?.real(),
        "imag" => tensor(part)?.imag(),
        other => return Err(names::unknown_attribute(other, name.span).into()),
    };
    Ok(view.into())
}

/// The dimensions in reverse order, which for a matrix is its transpose.
fn reversed(tensor: &Expr) -> zerostride::Result<Expr> {
    let ndim = tensor.shape()?.len() as isize;
    Ok(tensor.permute(&(0..ndim).rev().collect::<Vec<_>>()))
}
