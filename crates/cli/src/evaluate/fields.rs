//! Owns the names of the results of functions that have several, as PyTorch's. It does not know what the
//! results are.

use crate::expr::Kind;

const FIELDS: [(&str, [&str; 2]); 11] = [
    ("sort", ["values", "indices"]),
    ("topk", ["values", "indices"]),
    ("median", ["values", "indices"]),
    ("nanmedian", ["values", "indices"]),
    ("kthvalue", ["values", "indices"]),
    ("max", ["values", "indices"]),
    ("min", ["values", "indices"]),
    ("aminmax", ["min", "max"]),
    ("var_mean", ["var", "mean"]),
    ("std_mean", ["std", "mean"]),
    ("frexp", ["mantissa", "exponent"]),
];

/// The names of the results of a node of the syntax tree, if it is a call of such a function.
pub(crate) fn fields(kind: &Kind) -> Option<[&'static str; 2]> {
    let Kind::Call(call) = kind else { return None };
    FIELDS.iter().find(|(function, _)| *function == &*call.function.text).map(|(_, names)| *names)
}
