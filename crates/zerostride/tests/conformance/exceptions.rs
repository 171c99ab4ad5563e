//! Owns the one list of answers that differ from PyTorch's on purpose, each with its reason. An entry that no longer
//! applies to anything in one of its files fails the test of that file.

use zerostride::DType;

use crate::corpus::Operand;
use crate::findings::{Difference, Finding};

/// Findings that are meant to be.
pub(crate) struct Exception {
    /// The files of the corpus in which it is needed.
    pub(crate) files: &'static str,
    pub(crate) reason: &'static str,
    pub(crate) applies: fn(&Finding<'_>) -> bool,
}

pub(crate) static EXCEPTIONS: &[Exception] = &[
    Exception {
        files: "ops_unary ops_binary ops_ternary reductions",
        reason: "u16, u32 and u64 follow the Python array API where PyTorch refuses them or leaves them unpromoted",
        applies: |finding| has_unsigned(finding) && !matches!(finding.difference, Difference::Element { .. }),
    },
    Exception {
        files: "ops_scalar",
        reason: "a number is an operand everywhere; PyTorch's argument parser wants a tensor in these places",
        applies: |finding| {
            let wants_a_tensor =
                |text: &str| text.contains("must be Tensor, not") || text.contains("invalid combination");
            match &finding.difference {
                Difference::Answered { class, text } => class == "TypeError" && wants_a_tensor(text),
                Difference::Words { wanted_class, wanted_text, .. } => {
                    wanted_class == "TypeError" && wants_a_tensor(wanted_text)
                }
                _ => false,
            }
        },
    },
];

fn has_unsigned(finding: &Finding<'_>) -> bool {
    finding.case.operands.iter().any(|(_, operand)| match operand {
        Operand::Tensor { values, .. } => matches!(values.dtype, DType::U16 | DType::U32 | DType::U64),
        Operand::Number(_) => false,
    })
}
