//! Owns the answer to the page's question: the explanation, the programs, the repairs as addresses, and the
//! page's texts, as JSON. It does not know how the page shows them.

use std::collections::BTreeMap;

use serde::Serialize;
use zerostride_explain::{Explanation, Lang, Operand, Options, Repair};
use zerostride_shape::Size;

use crate::code;
use crate::operand::{Mistake, nested_text, sizes_text};
use crate::state::{MOST_OPERANDS, OPERATIONS, State, Written};
use crate::words::{EXAMPLES, LABELS, mistake, pick};

#[derive(Serialize)]
struct Answer {
    lang: &'static str,
    /// The page's state in its normal form, for the address.
    fragment: String,
    words: BTreeMap<&'static str, &'static str>,
    operations: Vec<Choice>,
    examples: Vec<Link>,
    in_place: bool,
    can_add: bool,
    operands: Vec<Field>,
    /// The text for screen readers; of several mistakes the first.
    status: String,
    /// Present only if every operand is valid.
    explained: Option<Explained>,
}

#[derive(Serialize)]
struct Choice {
    value: &'static str,
    label: String,
    chosen: bool,
}

#[derive(Serialize)]
struct Field {
    name: String,
    text: String,
    problem: Option<&'static str>,
}

#[derive(Serialize)]
struct Link {
    label: String,
    fragment: String,
}

#[derive(Serialize)]
struct Explained {
    style: String,
    report: String,
    /// One for each repair that the report lists, in its order.
    repairs: Vec<Link>,
    programs: Vec<Program>,
}

#[derive(Serialize)]
struct Program {
    library: &'static str,
    text: String,
}

/// Everything that the page shows for a state, which is the fragment of its address, as JSON.
///
/// ```
/// let answer = zerostride_web::answer("lang=it&op=sub&o=output=32,1&o=target=32,2,9");
/// assert!(answer.contains(r#""lang":"it""#) && answer.contains("The size of tensor a"));
/// ```
pub fn answer(fragment: &str) -> String {
    let state = State::parse(fragment);
    let read: Vec<Result<Operand, Mistake>> = state.operands.iter().map(Written::read).collect();
    let problem =
        |operand: &Result<Operand, Mistake>| operand.as_ref().err().map(|&found| mistake(found, state.lang));
    let fields = state.operands.iter().zip(&read).map(|(Written { name, text }, operand)| Field {
        name: name.clone(),
        text: text.clone(),
        problem: problem(operand),
    });
    let operands: Option<Vec<Operand>> = read.iter().map(|operand| operand.as_ref().ok().cloned()).collect();
    let explanation = operands.map(|operands| {
        let options = Options { op: state.op, in_place: state.in_place, ..Options::default() };
        Explanation::new(operands, options)
    });
    let answer = Answer {
        lang: state.lang.tag(),
        fragment: state.fragment(),
        words: LABELS
            .iter()
            .map(|&(key, english, italian)| (key, pick(state.lang, english, italian)))
            .collect(),
        operations: operations(&state),
        examples: examples(state.lang),
        in_place: state.in_place,
        can_add: state.operands.len() < MOST_OPERANDS,
        operands: fields.collect(),
        status: match &explanation {
            Some(explanation) => first_line(explanation, state.lang),
            None => read.iter().find_map(problem).unwrap_or_default().to_owned(),
        },
        explained: explanation.map(|explanation| explained(&explanation, &state)),
    };
    serde_json::to_string(&answer).expect("strings and lists always have a JSON form")
}

fn operations(state: &State) -> Vec<Choice> {
    let none =
        LABELS.iter().find(|(key, ..)| *key == "none").map_or("", |&(_, en, it)| pick(state.lang, en, it));
    let none = Choice { value: "", label: none.to_owned(), chosen: state.op.is_none() };
    let choice = |op: zerostride_ops::Op| Choice {
        value: op.name(),
        label: op.info().symbol.map_or(op.name().to_owned(), |symbol| format!("{symbol}  {}", op.name())),
        chosen: state.op == Some(op),
    };
    std::iter::once(none).chain(OPERATIONS.iter().map(|(op, _)| choice(*op))).collect()
}

fn examples(lang: Lang) -> Vec<Link> {
    let example = |&(english, italian, fragment): &(&str, &str, &str)| Link {
        label: pick(lang, english, italian).to_owned(),
        fragment: State { lang, ..State::parse(fragment) }.fragment(),
    };
    EXAMPLES.iter().map(example).collect()
}

fn first_line(explanation: &Explanation, lang: Lang) -> String {
    let page = zerostride_explain::Page { lang, width: usize::MAX, ..Default::default() };
    explanation.text(&page).lines().next().unwrap_or_default().to_owned()
}

fn explained(explanation: &Explanation, state: &State) -> Explained {
    let (style, report) = without_styles(&explanation.html_fragment(state.lang));
    let repairs =
        if explanation.error().is_some() { explanation.repairs() } else { explanation.alternatives() };
    let link = |repair: &Repair| Link {
        label: repair.call.clone(),
        fragment: repaired(repair, explanation, state).fragment(),
    };
    let programs = code::programs(explanation).map(|(library, text)| Program { library, text });
    Explained { style, report, repairs: repairs.iter().map(link).collect(), programs: programs.into() }
}

/// Separates style sheets from markup: the page's security policy allows no style in the markup.
fn without_styles(html: &str) -> (String, String) {
    let (mut style, mut markup) = (String::new(), String::new());
    let mut pieces = html.split("<style>");
    markup += pieces.next().unwrap_or_default();
    for piece in pieces {
        let (sheet, rest) = piece.split_once("</style>").unwrap_or((piece, ""));
        style += sheet;
        markup += rest;
    }
    (style, markup)
}

/// The state after a repair.
fn repaired(repair: &Repair, explanation: &Explanation, state: &State) -> State {
    let mut state = state.clone();
    let operand = &explanation.operands()[repair.operand];
    if repair.view[..] == operand.shape[..] {
        // The operand does not change: another one is written to, or none.
        if repair.call.contains("_(") {
            state.operands.swap(0, repair.operand);
        } else {
            state.in_place = false;
        }
        return state;
    }
    let moves = [".t()", ".transpose(", ".permute("].iter().any(|call| repair.call.contains(call));
    state.operands[repair.operand].text = match &operand.values {
        Some(values) if !moves && values.len() as Size == repair.view.numel() => {
            let dtype = operand.dtype.map_or(String::new(), |dtype| format!(":{dtype}"));
            nested_text(&repair.view, values) + &dtype
        }
        _ => sizes_text(&repair.view),
    };
    state
}
