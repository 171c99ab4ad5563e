//! Owns the JSON of an explanation, version 1: its keys, their order and which of them are null. It does not
//! know how the values are computed (`explanation.rs`).

use serde::ser::{Serialize, Serializer};
use zerostride_shape::{Class, Role, Size, Stride};

use crate::explanation::Explanation;
use crate::{operand, repair};

#[derive(serde::Serialize)]
struct Document<'a> {
    version: u32,
    broadcastable: bool,
    shape: Option<&'a [Size]>,
    numel: Option<Size>,
    operands: Vec<Operand<'a>>,
    classes: Vec<&'static str>,
    error: Option<Error>,
    repairs: Vec<Repair<'a>>,
}

#[derive(serde::Serialize)]
struct Operand<'a> {
    name: &'a str,
    shape: &'a [Size],
    dims: Option<Vec<&'static str>>,
    strides: Option<&'a [Stride]>,
}

#[derive(serde::Serialize)]
struct Error {
    message: String,
    dim: Option<usize>,
}

#[derive(serde::Serialize)]
struct Repair<'a> {
    operand: &'a str,
    call: &'a str,
    shape: &'a [Size],
}

fn name_of(role: &Role) -> &'static str {
    match role {
        Role::Kept => "kept",
        Role::Stretched => "stretched",
        Role::Added => "added",
    }
}

impl<'a> Document<'a> {
    fn new(explanation: &'a Explanation) -> Document<'a> {
        let broadcast = explanation.broadcast();
        let operand = |(i, (name, operand)): (usize, (&'a String, &'a operand::Operand))| Operand {
            name,
            shape: &operand.shape,
            dims: broadcast.map(|broadcast| broadcast.operands()[i].iter().map(name_of).collect()),
            strides: explanation.readings().get(i).map(|reading| &*reading.strides),
        };
        let repair = |repair: &'a repair::Repair| Repair {
            operand: &explanation.names()[repair.operand],
            call: &repair.call,
            shape: &repair.shape,
        };
        Document {
            version: 1,
            broadcastable: broadcast.is_some(),
            shape: explanation.shape().map(|shape| &**shape),
            numel: explanation.shape().map(|shape| shape.numel()),
            operands: explanation
                .names()
                .iter()
                .zip(explanation.operands())
                .enumerate()
                .map(operand)
                .collect(),
            classes: explanation.classes().iter().copied().map(Class::name).collect(),
            error: explanation
                .error()
                .map(|error| Error { message: error.to_string(), dim: error.diagnostic().dim }),
            repairs: explanation.repairs().iter().map(repair).collect(),
        }
    }
}

/// The JSON of an error that comes before any broadcast, such as one of dtypes: that of an [`Explanation`] of
/// an error, without operands.
///
/// ```
/// let line = zerostride_explain::refusal_json("no such thing");
/// assert!(line.starts_with(r#"{"version":1,"broadcastable":false,"shape":null,"numel":null,"operands":[],"#));
/// assert!(line.ends_with(r#""error":{"message":"no such thing","dim":null},"repairs":[]}"#));
/// ```
pub fn refusal_json(message: &str) -> String {
    let document = Document {
        version: 1,
        broadcastable: false,
        shape: None,
        numel: None,
        operands: Vec::new(),
        classes: Vec::new(),
        error: Some(Error { message: message.to_owned(), dim: None }),
        repairs: Vec::new(),
    };
    text(&document)
}

fn text(document: &impl Serialize) -> String {
    serde_json::to_string(document).expect("strings, numbers and lists always have a JSON form")
}

impl Serialize for Explanation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Document::new(self).serialize(serializer)
    }
}

impl Explanation {
    /// The explanation as one line of JSON; the keys are stable and in a fixed order.
    ///
    /// If the operands do not broadcast, `shape`, `numel` and every operand's `dims` and `strides` are null.
    /// The `shape` of a repair is that of the result. `strides` count elements.
    ///
    /// ```
    /// use zerostride_explain::{Explanation, Operand, Options};
    ///
    /// let explanation = Explanation::new(vec![Operand::new(&[4, 3]), Operand::new(&[1, 3])], Options::default());
    /// assert_eq!(
    ///     explanation.json(),
    ///     r#"{"version":1,"broadcastable":true,"shape":[4,3],"numel":12,"operands":[{"name":"a","shape":[4,3],"#
    ///         .to_owned()
    ///         + r#""dims":["kept","kept"],"strides":[3,1]},{"name":"b","shape":[1,3],"dims":["stretched","kept"],"#
    ///         + r#""strides":[0,1]}],"classes":["stretched"],"error":null,"repairs":[]}"#
    /// );
    /// ```
    pub fn json(&self) -> String {
        text(self)
    }
}
