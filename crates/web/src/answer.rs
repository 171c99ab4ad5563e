//! Owns the answer to the page's question: the explanation, the programs, the repairs as addresses, and the
//! page's texts, as JSON. It does not know how the page shows them.

use std::collections::BTreeMap;

use serde::Serialize;
use zerostride_explain::{Explanation, Lang, Operand, Options, Repair};
use zerostride_ops::Op;
use zerostride_shape::Size;

use crate::combined;
use crate::letters::Letters;
use crate::operand::{Mistake, nested_text, sizes_text};
use crate::state::Operation::{Einsum, Map, Matmul, Reduce};
use crate::state::{MOST_OPERANDS, Operation, State, Written};
use crate::words::{EXAMPLES, LABELS, LETTERS, mistake, pick, too_few};
use crate::{code, values};

/// The least and the greatest width of a picture, in pixels.
const LEAST_WIDTH: u32 = 300;
const MOST_WIDTH: u32 = 720;

#[derive(Serialize)]
struct Answer {
    lang: &'static str,
    /// The page's state in its normal form, for the address.
    fragment: String,
    words: BTreeMap<&'static str, &'static str>,
    operations: Vec<Choice>,
    examples: Vec<Link>,
    in_place: bool,
    dim: String,
    keepdim: bool,
    equation: String,
    /// The fields that the operation has: `in-place`, `dim`, `equation`.
    fields: Vec<&'static str>,
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
    /// Whether the operation takes fewer operands.
    unused: bool,
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
    let mut letters = Letters::beside(state.operands.iter().map(|operand| &*operand.text));
    let read: Vec<Result<Operand, Mistake>> =
        state.operands.iter().map(|operand| operand.read(&mut letters)).collect();
    let problem =
        |operand: &Result<Operand, Mistake>| operand.as_ref().err().map(|&found| mistake(found, state.lang));
    let taken = state.op.and_then(Operation::operands).unwrap_or(MOST_OPERANDS);
    let fields =
        state.operands.iter().zip(&read).enumerate().map(|(at, (Written { name, text }, operand))| Field {
            name: name.clone(),
            text: text.clone(),
            problem: problem(operand),
            unused: at >= taken,
        });
    let operands: Option<Vec<Operand>> =
        read.iter().take(taken).map(|operand| operand.as_ref().ok().cloned()).collect();
    let explained = operands.map(|operands| explain(operands, &state, &letters));
    let (status, explained) = match explained {
        Some((status, explained)) => (status, Some(explained)),
        None => (read.iter().find_map(problem).unwrap_or_default().to_owned(), None),
    };
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
        dim: state.dim.clone(),
        keepdim: state.keepdim,
        equation: state.equation.clone(),
        fields: match state.op {
            None | Some(Map(_)) if state.op != Some(Map(Op::Where)) => vec!["in-place"],
            Some(Reduce(_)) => vec!["dim"],
            Some(Einsum) => vec!["equation"],
            _ => Vec::new(),
        },
        can_add: state.operands.len() < MOST_OPERANDS.min(taken),
        operands: fields.collect(),
        status,
        explained,
    };
    serde_json::to_string(&answer).expect("strings and lists always have a JSON form")
}

/// The first line, and what is shown, of operands that are valid.
fn explain(operands: Vec<Operand>, state: &State, letters: &Letters) -> (String, Explained) {
    let alone = Explanation::new(operands.clone(), Options::default());
    let operands: Vec<Operand> =
        operands.into_iter().zip(alone.names()).map(|(operand, name)| operand.named(name)).collect();
    let programs = code::programs(state, &operands).map(|(library, text)| Program { library, text });
    let (line, mut told) = match told(operands, state, letters.is_empty()) {
        Ok(explanation) => (first_line(&explanation, state.lang), told_of(&explanation, state, letters)),
        Err(message) => {
            let (style, _) = without_styles(&alone.html_fragment(state.lang));
            let report = format!(
                "<article class=\"zs-report\"><h1 class=\"zs-error\">{}</h1></article>",
                message.replace('&', "&amp;").replace('<', "&lt;")
            );
            (message, Explained { style, report, repairs: Vec::new(), programs: Vec::new() })
        }
    };
    told.programs = programs.into();
    if letters.is_empty() {
        return (line, told);
    }
    for program in &mut told.programs {
        program.text = letters.written_program(&program.text, program.library.ends_with("Rust"));
    }
    let note = pick(state.lang, LETTERS.0, LETTERS.1);
    told.report = letters.written_in(&told.report).replacen(
        "</h1>",
        &format!("</h1>\n<p class=\"zs-who\">{note}</p>"),
        1,
    );
    (letters.written(&line, "·"), told)
}

/// The explanation of the operation, with its elements if they are known, or why there is none.
fn told(operands: Vec<Operand>, state: &State, has_bytes: bool) -> Result<Explanation, String> {
    if let Some((op, needed)) = state.op.and_then(|op| Some((op, op.operands()?)))
        && operands.len() < needed
    {
        return Err(too_few(op.name(), needed, state.lang));
    }
    let are_typed = operands.iter().all(|operand| operand.dtype.is_some());
    let (operands, options) = match state.op {
        Some(Reduce(op)) => combined::reduction(op, operands[0].clone(), &state.dim, state.keepdim),
        Some(Matmul) => combined::matmul(operands),
        Some(Einsum) => combined::einsum(&state.equation, operands),
        Some(Map(op)) => {
            let in_place = state.in_place && op != Op::Where;
            Ok((operands, Options { op: Some(op), in_place, ..Options::default() }))
        }
        None => Ok((operands, Options { in_place: state.in_place, ..Options::default() })),
    }?;
    let width = state.width.unwrap_or(MOST_WIDTH).clamp(LEAST_WIDTH, MOST_WIDTH);
    // Of letters there are products, but no bytes.
    let max_bytes = if has_bytes { options.max_bytes } else { u128::MAX };
    let options = Options { width, has_bytes, max_bytes, ..options };
    let explanation = Explanation::new(operands.clone(), options.clone());
    let (typed, taken) = (values::typed(&explanation), state.op.and_then(Operation::operands).unwrap_or(2));
    let refused = match state.op {
        Some(Map(op)) if are_typed && typed.len() == taken => op.infer(&typed).err(),
        Some(Reduce(op)) if are_typed => op.infer(&typed).err(),
        _ => None,
    };
    if let (Some(error), None) = (refused, explanation.error()) {
        return Err(error.to_string());
    }
    let result = values::result(&explanation);
    Ok(Explanation::new(operands, Options { result, ..options }))
}

fn operations(state: &State) -> Vec<Choice> {
    let none =
        LABELS.iter().find(|(key, ..)| *key == "none").map_or("", |&(_, en, it)| pick(state.lang, en, it));
    let none = Choice { value: "", label: none.to_owned(), chosen: state.op.is_none() };
    let choice = |op: Operation| Choice {
        value: op.name(),
        label: op.symbol().map_or(op.name().to_owned(), |symbol| format!("{symbol}  {}", op.name())),
        chosen: state.op == Some(op),
    };
    std::iter::once(none).chain(Operation::ALL.map(choice)).collect()
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

fn told_of(explanation: &Explanation, state: &State, letters: &Letters) -> Explained {
    let (style, report) = without_styles(&explanation.html_fragment(state.lang));
    let repairs = match state.op {
        // Views are repaired, which are no operands of the reader's.
        Some(Reduce(_) | Matmul | Einsum) => &[],
        _ if explanation.error().is_some() => explanation.repairs(),
        _ => explanation.alternatives(),
    };
    let link = |repair: &Repair| Link {
        label: letters.written(&repair.call, "·"),
        fragment: repaired(repair, explanation, state, letters).fragment(),
    };
    Explained { style, report, repairs: repairs.iter().map(link).collect(), programs: Vec::new() }
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
fn repaired(repair: &Repair, explanation: &Explanation, state: &State, letters: &Letters) -> State {
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
        _ => letters.written(&sizes_text(&repair.view), "*"),
    };
    state
}
