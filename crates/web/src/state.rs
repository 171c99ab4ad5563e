//! Owns `State`, all that a reader has chosen, and its form as the fragment of an address. It does not know
//! whether an operand's text is valid (`operand.rs`).

use zerostride_explain::Lang;
use zerostride_ops::Op;

/// The most operands; others are dropped, which bounds the work that an address can cause.
pub(crate) const MOST_OPERANDS: usize = 16;

/// What is done with the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Element by element.
    Map(Op),
    /// A reduction of one operand.
    Reduce(Op),
    /// The product of two matrices, or of batches of them.
    Matmul,
    /// Sums of products, by an equation.
    Einsum,
}

use Operation::{Einsum, Map, Matmul, Reduce};

impl Operation {
    /// The operations that the page offers.
    pub(crate) const ALL: [Operation; 17] = [
        Map(Op::Add),
        Map(Op::Sub),
        Map(Op::Mul),
        Map(Op::Div),
        Map(Op::Pow),
        Map(Op::Maximum),
        Map(Op::Minimum),
        Map(Op::Eq),
        Map(Op::Lt),
        Map(Op::Gt),
        Map(Op::Where),
        Reduce(Op::Sum),
        Reduce(Op::Mean),
        Reduce(Op::Amax),
        Reduce(Op::Amin),
        Matmul,
        Einsum,
    ];

    /// The name, which is PyTorch's.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Map(op) | Reduce(op) => op.name(),
            Matmul => "matmul",
            Einsum => "einsum",
        }
    }

    /// The sign between two operands.
    pub(crate) fn symbol(self) -> Option<&'static str> {
        match self {
            Map(op) => op.info().symbol,
            Matmul => Some("@"),
            Reduce(_) | Einsum => None,
        }
    }

    /// The number of operands, if it takes a certain one. Of two, more may be broadcast.
    pub(crate) fn operands(self) -> Option<usize> {
        match self {
            Map(Op::Where) => Some(3),
            Reduce(_) => Some(1),
            Matmul => Some(2),
            Map(_) | Einsum => None,
        }
    }
}

/// What a reader has chosen.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct State {
    pub(crate) lang: Lang,
    pub(crate) op: Option<Operation>,
    pub(crate) in_place: bool,
    /// The dimensions of a reduction, as they are written; none are all.
    pub(crate) dim: String,
    pub(crate) keepdim: bool,
    /// The equation of `einsum`.
    pub(crate) equation: String,
    /// The room for a picture in pixels, which is the reader's screen's and in no address.
    pub(crate) width: Option<u32>,
    pub(crate) operands: Vec<Written>,
}

/// An operand's text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Written {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl State {
    /// Parses a fragment such as `op=sub&o=x=32,1&o=y=32`. What is invalid is left out; without operands it
    /// gets two small arrays as a start.
    pub(crate) fn parse(fragment: &str) -> State {
        let mut state = State::default();
        for (key, value) in fragment.split('&').filter_map(|part| part.split_once('=')) {
            let (raw, value) = (value, decoded(value));
            match key {
                "lang" => state.lang = Lang::of_locale(&value).unwrap_or_default(),
                "op" => state.op = Operation::ALL.into_iter().find(|op| op.name() == value),
                "inplace" => state.in_place = value == "1",
                "dim" => state.dim = value.trim().to_owned(),
                "keepdim" => state.keepdim = value == "1",
                "width" => state.width = value.parse().ok(),
                "eq" => state.equation = value.trim().to_owned(),
                "o" if state.operands.len() < MOST_OPERANDS => {
                    // A `=` in a name is escaped, so the first one separates name and text.
                    let (name, text) = match raw.split_once('=') {
                        Some((name, text)) => (decoded(name), decoded(text)),
                        None => (String::new(), value),
                    };
                    state.operands.push(Written { name: name.trim().to_owned(), text });
                }
                _ => {}
            }
        }
        if state.operands.is_empty() {
            let written = |name: &str, text: &str| Written { name: name.to_owned(), text: text.to_owned() };
            state.operands = vec![written("x", "[[1, 2, 3]]"), written("y", "[[4], [5], [6]]")];
            state.op = Some(Map(Op::Add));
        }
        state
    }

    /// The state as a fragment.
    pub(crate) fn fragment(&self) -> String {
        let mut parts = vec![format!("lang={}", self.lang)];
        parts.extend(self.op.map(|op| format!("op={}", op.name())));
        parts.extend(self.in_place.then(|| "inplace=1".to_owned()));
        parts.extend((!self.dim.is_empty()).then(|| format!("dim={}", encoded(&self.dim))));
        parts.extend(self.keepdim.then(|| "keepdim=1".to_owned()));
        parts.extend((!self.equation.is_empty()).then(|| format!("eq={}", encoded(&self.equation))));
        parts.extend(
            self.operands
                .iter()
                .map(|Written { name, text }| format!("o={}={}", encoded(name), encoded(text))),
        );
        parts.join("&")
    }
}

/// Decodes `%20` and `+`.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let hex = |at: usize| after.get(at).and_then(|&byte| char::from(byte).to_digit(16));
        (bytes, rest) = match (first, hex(0), hex(1)) {
            (b'%', Some(high), Some(low)) => (push(bytes, (16 * high + low) as u8), &after[2..]),
            (b'+', ..) => (push(bytes, b' '), after),
            (&byte, ..) => (push(bytes, byte), after),
        };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

fn push(mut bytes: Vec<u8>, byte: u8) -> Vec<u8> {
    bytes.push(byte);
    bytes
}

/// Encodes what a fragment cannot contain or what has a meaning in it.
fn encoded(text: &str) -> String {
    text.bytes().fold(String::new(), |encoded, byte| match byte {
        b' ' => encoded + "+",
        _ if byte.is_ascii_alphanumeric() || b"-._~(),:*".contains(&byte) => {
            encoded + &char::from(byte).to_string()
        }
        _ => encoded + &format!("%{byte:02X}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fragment_is_read_back_as_it_was_written() {
        for fragment in [
            "lang=it&op=sub&inplace=1&o=x=(32,+1)&o==[[1,+2]]:f32&o=%C3%A8=5%26%3D%25%2B",
            "op=sum&dim=0,+-1&keepdim=1&o=x=3,4",
            "op=einsum&eq=ij,jk->ik&o=x=3,4&o=y=4,5",
            "",
            "o=%",
            "o=%4",
            "&&=",
        ] {
            let state = State::parse(fragment);
            assert_eq!(State::parse(&state.fragment()), state, "{fragment}");
        }
        let state = State::parse("o=%C3%A8=5%26%3D%25%2B&op=rm");
        assert_eq!((&*state.operands[0].name, &*state.operands[0].text, state.op), ("è", "5&=%+", None));
    }

    #[test]
    fn an_address_cannot_ask_for_any_number_of_operands() {
        assert_eq!(State::parse(&"o=x=3&".repeat(1000)).operands.len(), MOST_OPERANDS);
    }
}
