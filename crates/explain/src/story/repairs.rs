//! Owns the sentences about repairs: the call, the shapes of operand and result after it, and what to mind.
//! It does not know how they are found (`repair/`).

use zerostride_shape::ShapeError;

use super::block::{Block, Offer};
use super::words::{elements, listed, tuple};
use crate::explanation::Explanation;
use crate::lang::{Lang, count, say};
use crate::repair::{Hint, Repair};

pub(super) fn tell(explanation: &Explanation, lang: Lang, blocks: &mut Vec<Block>) {
    let repairs = explanation.repairs();
    if repairs.is_empty() {
        return tell_none(explanation, lang, blocks);
    }
    let straight = repairs.iter().position(|repair| repair.mutual_stretch).unwrap_or(repairs.len());
    let (straight, mutual) = repairs.split_at(straight);
    if !straight.is_empty() {
        blocks.push(Block::Title(say!(lang, "repairs")));
        blocks.push(Block::Offers(offers(explanation, straight, lang)));
    }
    if !mutual.is_empty() {
        blocks.push(Block::Title(match (straight.is_empty(), explanation.options().in_place) {
            (false, _) => say!(lang, "repairs-all-pairs"),
            (true, true) => say!(lang, "repairs-larger"),
            (true, false) => say!(lang, "repairs-only-all-pairs"),
        }));
        blocks.push(Block::Offers(offers(explanation, mutual, lang)));
    }
}

pub(super) fn offers(explanation: &Explanation, repairs: &[Repair], lang: Lang) -> Vec<Offer> {
    let names = explanation.names();
    let offer = |repair: &Repair| {
        let name = names[repair.operand].as_str();
        let (shape, elements) = (tuple(&repair.shape), elements(repair.shape.numel() as u128, lang));
        let effect = match *repair.view == *explanation.operands()[repair.operand].shape {
            true => say!(lang, "repair-gives", shape = shape, elements = elements),
            false => {
                let view = tuple(&repair.view);
                say!(lang, "repair-becomes", name = name, view = view, shape = shape, elements = elements)
            }
        };
        let advice = repair.hint.as_ref().map(|hint| advice(hint, name, names, lang));
        Offer { operand: repair.operand, call: repair.call.clone(), effect, advice }
    };
    repairs.iter().map(offer).collect()
}

fn advice(hint: &Hint, name: &str, names: &[String], lang: Lang) -> String {
    match hint {
        Hint::KeepDim { of, dims } => {
            let dims: Vec<String> = dims.iter().map(usize::to_string).collect();
            say!(lang, "hint-keepdim", name = name, of = &*names[*of], dims = listed(&dims, lang))
        }
        Hint::ElementOrder => say!(lang, "hint-element-order"),
        Hint::NewTensor => say!(lang, "hint-new-tensor", name = name),
    }
}

fn tell_none(explanation: &Explanation, lang: Lang, blocks: &mut Vec<Block>) {
    // The message of other errors says all there is to say.
    if !matches!(explanation.error(), Some(ShapeError::Incompatible { .. })) {
        return;
    }
    let operands = explanation.names().iter().zip(explanation.operands());
    let empty: Vec<&String> =
        operands.filter(|(_, operand)| operand.shape.contains(&0)).map(|(name, _)| name).collect();
    blocks.push(Block::Alone(match empty.len() {
        0 => say!(lang, "no-repair"),
        some => say!(lang, "no-repair-of-empty", count = count(some as u128), names = listed(&empty, lang)),
    }));
}
