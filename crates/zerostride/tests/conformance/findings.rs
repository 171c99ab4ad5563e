//! Owns what a comparison found: it counts, takes out the documented exceptions, and reports the rest so that
//! a person can read it. It does not compare.

use std::collections::BTreeMap;

use zerostride::{Error, Tensor};

use crate::compare::{self, Closeness};
use crate::corpus::{Answer, Case, Operand, class_name};
use crate::exceptions::EXCEPTIONS;
use crate::values::Values;

/// One way in which an answer of ours differs.
pub(crate) struct Finding<'a> {
    pub(crate) case: &'a Case,
    pub(crate) difference: Difference,
}

pub(crate) enum Difference {
    /// PyTorch answers, we refuse.
    Refused { class: &'static str, text: String },
    /// PyTorch refuses, we answer.
    Answered { class: String, text: String },
    /// Both refuse, not in the same words.
    Words { class: &'static str, text: String, wanted_class: String, wanted_text: String },
    /// The dtype or the shape is another.
    Kind { ours: String, wanted: String },
    /// An element is another.
    Element { index: usize, ours: Values, wanted: Values, torch: Values },
}

/// What a result is held to.
pub(crate) struct Rule {
    pub(crate) closeness: Closeness,
    pub(crate) wanted: Vec<u64>,
    /// Whether PyTorch's own answer is as good as the wanted one.
    pub(crate) torch: bool,
}

/// All findings of one file of the corpus.
pub(crate) struct Findings {
    file: &'static str,
    cases: usize,
    elements: usize,
    groups: BTreeMap<String, (usize, Vec<String>)>,
    excepted: Vec<usize>,
}

impl Findings {
    pub(crate) fn of(file: &'static str) -> Findings {
        Findings { file, cases: 0, elements: 0, groups: BTreeMap::new(), excepted: vec![0; EXCEPTIONS.len()] }
    }

    /// Compares the outcome of a case with PyTorch's, by the rule for its operation.
    pub(crate) fn compare(&mut self, case: &Case, outcome: zerostride::Result<Vec<Tensor>>) {
        self.compare_by(case, outcome, |values| {
            let (closeness, wanted) =
                (compare::closeness(case, values), compare::wanted(case, values).to_vec());
            Rule { closeness, wanted, torch: values.is_complex() }
        });
    }

    /// Compares the outcome of a case by the rule that `rule` gives for PyTorch's values.
    pub(crate) fn compare_by(
        &mut self,
        case: &Case,
        outcome: zerostride::Result<Vec<Tensor>>,
        rule: impl Fn(&Values) -> Rule,
    ) {
        self.cases += 1;
        match (outcome, &case.answer) {
            (Ok(ours), Answer::Results(results)) => {
                assert_eq!(ours.len(), results.len());
                for (ours, result) in ours.iter().zip(results) {
                    self.result(case, ours, result, &rule);
                }
            }
            (Ok(_), Answer::Refusal { class, text }) => {
                self.note(case, Difference::Answered { class: class.clone(), text: text.clone() });
            }
            (Err(error), Answer::Results(_)) => self.note(case, refused(&error)),
            (Err(error), Answer::Refusal { class, text }) => {
                let ours = (class_name(error.class()), error.root().to_string());
                if (ours.0, &ours.1) != (&class[..], text) {
                    let (wanted_class, wanted_text) = (class.clone(), text.clone());
                    self.note(
                        case,
                        Difference::Words { class: ours.0, text: ours.1, wanted_class, wanted_text },
                    );
                }
            }
        }
    }

    fn result(
        &mut self,
        case: &Case,
        ours: &Tensor,
        result: &crate::corpus::Result,
        rule: impl Fn(&Values) -> Rule,
    ) {
        let kind = |dtype: &str, shape: &[usize]| format!("{dtype}{shape:?}");
        let (found, wanted) =
            (kind(ours.dtype().torch_name(), ours.shape()), kind(&result.dtype, &result.shape));
        let Some(torch) = result.values.as_ref().filter(|_| found == wanted) else {
            return self.note(case, Difference::Kind { ours: found, wanted });
        };
        let ours = Values::of(ours);
        let Rule { closeness, wanted, torch: torch_counts } = rule(torch);
        self.elements += ours.bits.len() / ours.width();
        for index in 0..ours.bits.len() / ours.width() {
            let apart = |answer: &[u64]| compare::apart(&closeness, index, &ours, answer);
            let wrong = apart(&wanted) && (!torch_counts || apart(&torch.bits));
            if wrong && !case.undefined.contains(&index) {
                let element = |bits: &[u64]| Values {
                    dtype: torch.dtype,
                    bits: bits[index * torch.width()..][..torch.width()].to_vec(),
                };
                let (ours, wanted, torch) = (element(&ours.bits), element(&wanted), element(&torch.bits));
                self.note(case, Difference::Element { index, ours, wanted, torch });
            }
        }
    }

    fn note(&mut self, case: &Case, difference: Difference) {
        let finding = Finding { case, difference };
        let in_file = |files: &str| files.split_whitespace().any(|file| file == self.file);
        let exception =
            EXCEPTIONS.iter().position(|exception| in_file(exception.files) && (exception.applies)(&finding));
        match exception {
            Some(index) => self.excepted[index] += 1,
            None => {
                let group = self.groups.entry(finding.group()).or_default();
                group.0 += 1;
                if group.1.len() < 3 {
                    group.1.push(finding.show());
                }
            }
        }
    }

    /// Prints the counts, and fails if something is left or an exception is no longer needed.
    pub(crate) fn conclude(self) {
        println!("{}: {} cases, {} elements compared", self.file, self.cases, self.elements);
        for (exception, count) in EXCEPTIONS.iter().zip(&self.excepted).filter(|(_, count)| **count > 0) {
            println!("  excepted {count}: {}", exception.reason);
        }
        let mut report = String::new();
        for (group, (count, first)) in &self.groups {
            report += &format!("{group}: {count}\n");
            first.iter().for_each(|line| report += &format!("    {line}\n"));
        }
        let unused = EXCEPTIONS.iter().zip(&self.excepted).filter(|(exception, count)| {
            **count == 0 && exception.files.split_whitespace().any(|file| file == self.file)
        });
        unused.for_each(|(exception, _)| report += &format!("not needed any more: {}\n", exception.reason));
        assert!(report.is_empty(), "{}:\n{report}", self.file);
    }
}

fn refused(error: &Error) -> Difference {
    Difference::Refused { class: class_name(error.class()), text: error.root().to_string() }
}

impl Finding<'_> {
    pub(crate) fn has_keyword(&self, keyword: &str) -> bool {
        self.case.kwargs.iter().any(|(name, _)| name == keyword)
    }

    fn group(&self) -> String {
        let dtypes: Vec<&str> = self.case.operands.iter().map(|(_, operand)| operand.dtype_name()).collect();
        let keywords: Vec<String> =
            self.case.kwargs.iter().map(|(name, value)| format!(", {name}={value}")).collect();
        let kind = match self.difference {
            Difference::Refused { .. } => "refused by us only",
            Difference::Answered { .. } => "refused by PyTorch only",
            Difference::Words { .. } => "refused in other words",
            Difference::Kind { .. } => "another dtype or shape",
            Difference::Element { .. } => "another value",
        };
        format!("{}({}{}) {kind}", self.case.op, dtypes.join(", "), keywords.join(""))
    }

    fn show(&self) -> String {
        match &self.difference {
            Difference::Refused { class, text } => format!("we: {class}: {text}"),
            Difference::Answered { class, text } => format!("PyTorch: {class}: {text}"),
            Difference::Words { class, text, wanted_class, wanted_text } => {
                format!("we: {class}: {text}\n    PyTorch: {wanted_class}: {wanted_text}")
            }
            Difference::Kind { ours, wanted } => format!("{ours}, wanted {wanted}"),
            Difference::Element { index, ours, wanted, torch } => {
                let operands: Vec<String> =
                    self.case.operands.iter().map(|(_, operand)| operand.show(*index)).collect();
                format!(
                    "[{index}] ({}) -> {}, wanted {} (PyTorch {})",
                    operands.join(", "),
                    ours.show(0),
                    wanted.show(0),
                    torch.show(0)
                )
            }
        }
    }
}

impl Operand {
    fn dtype_name(&self) -> &'static str {
        match self {
            Operand::Tensor { values, .. } => values.dtype.name(),
            Operand::Number(number) => ["bool", "int", "float", "complex"][number.category() as usize],
        }
    }

    fn show(&self, index: usize) -> String {
        match self {
            Operand::Tensor { values, shape, .. } => {
                let count: usize = shape.iter().product();
                values.show(if count == 1 { 0 } else { index.min(count - 1) })
            }
            Operand::Number(number) => number.to_string(),
        }
    }

    pub(crate) fn is_complex(&self) -> bool {
        match self {
            Operand::Tensor { values, .. } => values.is_complex(),
            Operand::Number(number) => number.dtype().to_real() != number.dtype(),
        }
    }
}
