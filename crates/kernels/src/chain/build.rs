//! Owns the translation of instructions into code: the lane width, the primitives and where each finds its
//! operands. It does not know what a primitive does.

use smallvec::SmallVec;
use zerostride_ops::{Category, DType, Op};

use super::code::{Code, Set};
use super::table::{self, Form};
use super::{Chain, ChainOperand, CodeWord, Link, WordOperand, single};

/// The bytes of the lanes that a dtype computes in: c64 in lanes of both parts, bool in any width, c128 in
/// none.
fn lane(dtype: DType) -> Option<usize> {
    match dtype {
        DType::F16 | DType::BF16 => Some(DType::F32.item_size()),
        DType::C128 => None,
        dtype => Some(dtype.item_size()),
    }
}

/// The lane width of a chain: that of its widest dtype, if all operations compute in it.
fn width(first: DType, links: &[Link], stored: DType) -> Option<usize> {
    let named = links.iter().map(|link| match link {
        Link::Cast(to) => *to,
        Link::Map { compute, .. } => *compute,
    });
    let width = named.chain([first, stored]).map(lane).try_fold(1, |width, lane| Some(width.max(lane?)))?;
    let fits = |link: &Link| match link {
        Link::Cast(_) | Link::Map { compute: DType::Bool, .. } => true,
        Link::Map { compute, .. } => lane(*compute) == Some(width),
    };
    links.iter().all(fits).then_some(width)
}

/// The strided loads of elements of a dtype, if they are as wide as the lanes.
fn stepped<S: Set>(dtype: DType, width: usize, step: isize) -> Option<[Code; 2]> {
    if dtype.item_size() == width { table::stepped::<S>(width, step) } else { None }
}

pub(super) fn chain<S: Set>(first: (ChainOperand, DType), links: &[Link], stored: DType) -> Option<Chain> {
    let width = width(first.1, links, stored)?;
    let mut code = Builder { width, parts: SmallVec::new(), rounds: None };
    // Operations on bools in one-byte lanes take any byte but 0 for true themselves.
    let is_told = matches!(links.first(), Some(Link::Map { compute: DType::Bool, .. })) && width == 1;
    let loaded = table::form::<S>(if is_told { DType::U8 } else { first.1 }, width)?;
    let (load, fetching) = match first.0 {
        ChainOperand::Stepped(_, step) => (stepped::<S>(first.1, width, step)?[0], None),
        ChainOperand::Vector(_) | ChainOperand::Splat(_) => (loaded.load, loaded.fetch),
    };
    code.push(load, WordOperand::Memory(first.0, first.1.item_size()));
    let mut value = first.1;
    for link in links {
        value = match link {
            Link::Cast(to) => code.cast::<S>(value, *to)?,
            Link::Map { op, compute, place, others } => {
                code.map::<S>(value, *op, *compute, *place, others)?
            }
        };
    }
    code.cast::<S>(value, stored)?;
    let Form { mut stores, rounding, .. } = table::form::<S>(stored, width)?;
    if code.rounds == Some(stored) {
        code.parts.pop();
        stores = rounding.unwrap_or(stores);
    }
    code.push(stores.store, WordOperand::Out);
    Some(Chain {
        code: code.parts,
        streaming: stores.stream,
        fetching,
        enter: S::ENTRY,
        single: single::find::<S>(first, links, stored),
        register: size_of::<S::Register>(),
        lanes: size_of::<S::Register>() / width,
        stored: stored.item_size(),
    })
}

struct Builder {
    width: usize,
    parts: SmallVec<[CodeWord; 8]>,
    /// The dtype, f16 or bf16, that the last primitive rounds to, as a store of it does.
    rounds: Option<DType>,
}

impl Builder {
    fn push(&mut self, code: Code, place: WordOperand) {
        self.parts.push(CodeWord { code, place });
        self.rounds = None;
    }

    fn cast<S: Set>(&mut self, from: DType, to: DType) -> Option<DType> {
        if from != to {
            self.push(table::cast::<S>(from, to, self.width)?, WordOperand::Registers);
            self.rounds = (from.category() == Category::Float && to.is_half()).then_some(to);
        }
        Some(to)
    }

    fn map<S: Set>(
        &mut self,
        value: DType,
        op: Op,
        compute: DType,
        place: usize,
        others: &[ChainOperand],
    ) -> Option<DType> {
        // A condition computed by the chain is a bool; one from memory has the dtype of the other operands.
        if op == Op::Where && place == 0 && value == DType::Bool {
            self.cast::<S>(value, compute)?;
        } else if value != compute {
            return None;
        }
        if let (Op::Div, 0, [ChainOperand::Splat(slot)]) = (op, place, others)
            && let Some((quotient, prepare)) = table::quotient::<S>(compute)
        {
            self.push(quotient, WordOperand::Prepared(*slot, compute.item_size(), prepare));
            return Some(compute);
        }
        let function = table::map::<S>(op, compute, place, self.width)?;
        if others.len() + 1 != function.arity || place >= function.arity {
            return None;
        }
        let mut operands: SmallVec<[WordOperand; 3]> = SmallVec::new();
        for (i, &feed) in others.iter().enumerate() {
            let memory = WordOperand::Memory(feed, compute.item_size());
            let stage = match feed {
                ChainOperand::Stepped(_, step) => Some(stepped::<S>(compute, self.width, step)?[1]),
                ChainOperand::Vector(_) | ChainOperand::Splat(_) => {
                    table::form::<S>(compute, self.width)?.stage
                }
            };
            operands.push(match stage {
                Some(stage) => {
                    self.push(stage, memory);
                    self.push(stage, WordOperand::Stage(i));
                    WordOperand::Stage(i)
                }
                None => memory,
            });
        }
        if let Some(exchange) = function.exchange {
            let kept = WordOperand::Stage(others.len());
            self.push(exchange, operands.remove(0));
            self.push(exchange, kept);
            operands.insert(place - 1, kept);
        }
        if operands.is_empty() {
            operands.push(WordOperand::Registers);
        }
        for place in operands {
            self.push(function.code, place);
        }
        let [round, then] = function.after;
        for code in function.after.into_iter().flatten() {
            self.push(code, WordOperand::Registers);
        }
        self.rounds = round.filter(|_| then.is_none()).map(|_| compute);
        Some(function.result)
    }
}
