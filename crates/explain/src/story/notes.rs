//! Owns the notes on a broadcast that works but may not be meant: one for each class that needs one. It does
//! not decide the classes (`zerostride-shape`).

use zerostride_shape::{Class, Shape, Size};

use super::block::Block;
use super::repairs::offers;
use super::words::{bytes, elements, listed};
use crate::explanation::Explanation;
use crate::lang::{Lang, say};

pub(super) fn tell(explanation: &Explanation, shape: &Shape, lang: Lang, blocks: &mut Vec<Block>) {
    // What a reduction combines is no result, and never stored.
    if explanation.options().reduction.is_some() {
        return;
    }
    for class in explanation.classes() {
        let (text, instead) = match class {
            Class::MutualStretch => (larger(explanation, shape, lang), explanation.alternatives()),
            Class::BlowUp => {
                let taken = bytes(explanation.result_bytes().unwrap_or(0), lang);
                let limit = bytes(explanation.options().max_bytes, lang);
                (say!(lang, "above-the-limit", bytes = taken, limit = limit), &[][..])
            }
            Class::RankAdded | Class::Stretched | Class::SameNumel => continue,
        };
        let instead = (!instead.is_empty())
            .then(|| (say!(lang, "element-by-element-instead"), offers(explanation, instead, lang)));
        blocks.push(Block::Note { label: say!(lang, "note"), text, instead });
    }
}

fn larger(explanation: &Explanation, shape: &Shape, lang: Lang) -> String {
    let numel = |operand: &crate::Operand| operand.shape.iter().product::<Size>().to_string();
    let sizes: Vec<String> = explanation.operands().iter().map(numel).collect();
    let elements = elements(shape.numel() as u128, lang);
    say!(lang, "larger-than-every-operand", elements = elements, sizes = listed(&sizes, lang))
}
