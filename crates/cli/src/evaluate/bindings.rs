//! Owns what names stand for: the values that the user binds to them, and those that they have otherwise. It
//! does not know the names of functions.

use std::collections::HashMap;

use zerostride::Scalar;

use super::dtypes::dtype;
use super::value::Value;

/// The names that have a value unless the user binds another to them.
pub(super) const CONSTANTS: [(&str, f64); 4] =
    [("inf", f64::INFINITY), ("nan", f64::NAN), ("pi", std::f64::consts::PI), ("e", std::f64::consts::E)];

/// The values of names.
pub(crate) type Bindings = HashMap<String, Value>;

/// The value of a name that the user has not bound: a number or a dtype.
pub(super) fn constant(name: &str) -> Option<Value> {
    let number = CONSTANTS.iter().find(|(constant, _)| *constant == name);
    let number = number.map(|(_, number)| Value::Number(Scalar::Float(*number)));
    number.or_else(|| dtype(name).ok().map(Value::DType))
}

/// Whether a name has a meaning even if the user has not bound it.
pub(crate) fn has_meaning(name: &str) -> bool {
    constant(name).is_some()
}
