//! Owns reductions, matrix products and `einsum` as what they are: a broadcast of views, then a reduction of
//! some of its dimensions. It does not know how that is drawn.

use zerostride_explain::{Operand, Options, Reduction};
use zerostride_ops::{DType, Op};
use zerostride_shape::{Size, broadcast_shape, reduced_dims};

/// A dimension that operands share: a letter of an equation, or the place from the right of a dimension that
/// `...` or a batch covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dim {
    Letter(char),
    Batch(usize),
}

/// The views of the operands, and what is done with them; or PyTorch's message.
type Combined = Result<(Vec<Operand>, Options), String>;

/// `x.sum(dim, keepdim)`; an empty text is all dimensions.
pub(crate) fn reduction(op: Op, operand: Operand, dim: &str, keepdim: bool) -> Combined {
    let ndim = operand.shape.len();
    let named = operand.name.clone().unwrap_or_default();
    let given: Result<Vec<isize>, _> = listed(dim).map(str::parse).collect();
    let given = given.map_err(|_| format!("dim must be whole numbers with commas between, but got {dim}"))?;
    let dims = reduced_dims(&given, ndim).map_err(|error| error.to_string())?;
    let dims = if given.is_empty() { (0..ndim).collect() } else { dims };
    let call = reduction_call(&named, op.name(), dim, keepdim, "keepdim");
    let reduction = Some(Reduction { op, dims, keepdim });
    Ok((vec![operand], Options { reduction, expression: Some(call), ..Options::default() }))
}

/// The pieces of a list with commas.
fn listed(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|piece| !piece.is_empty())
}

/// `x.sum(1, keepdim=True)`, in the words of a library: its name of `keepdim`, and several dimensions.
pub(crate) fn reduction_call(operand: &str, name: &str, dim: &str, keepdim: bool, keep: &str) -> String {
    let dims = match &listed(dim).collect::<Vec<_>>()[..] {
        dims if dims.len() > 1 => format!("({})", dims.join(", ")),
        dims => dims.concat(),
    };
    let keepdim = keepdim.then(|| format!("{keep}=True"));
    let arguments: Vec<String> = [dims].into_iter().filter(|dims| !dims.is_empty()).chain(keepdim).collect();
    format!("{operand}.{name}({})", arguments.join(", "))
}

/// `x @ y`.
pub(crate) fn matmul(operands: Vec<Operand>) -> Combined {
    let [a, b] = &operands[..] else { return Err("matmul takes 2 operands".to_owned()) };
    let (Some(&inner), Some(_)) = (a.shape.last(), b.shape.last()) else {
        let (a, b) = (a.shape.len(), b.shape.len());
        let message = format!("both arguments to matmul need to be at least 1D, but they are {a}D and {b}D");
        return Err(message);
    };
    if inner != b.shape[b.shape.len().saturating_sub(2)]
        && let Some(message) = mismatch(&a.shape, &b.shape)
    {
        return Err(message);
    }
    let dims = |operand: &Operand, last: [char; 2], alone: char| {
        let batch = operand.shape.len().saturating_sub(2);
        let letters = if operand.shape.len() == 1 { vec![alone] } else { last.to_vec() };
        (0..batch).rev().map(Dim::Batch).chain(letters.into_iter().map(Dim::Letter)).collect::<Vec<_>>()
    };
    let inputs = vec![dims(a, ['m', 'k'], 'k'), dims(b, ['k', 'n'], 'k')];
    let mut order = if inputs[0].len() < inputs[1].len() { inputs[1].clone() } else { inputs[0].clone() };
    order.retain(|dim| matches!(dim, Dim::Batch(_)));
    order.extend("mkn".chars().map(Dim::Letter).filter(|dim| inputs.iter().any(|input| input.contains(dim))));
    let output = order.iter().copied().filter(|dim| *dim != Dim::Letter('k')).collect::<Vec<_>>();
    let names = names(&operands);
    combine(operands, &inputs, &order, &output, format!("{} @ {}", names[0], names[1]))
}

/// PyTorch's message for matrices that do not go together; none if their batches do not, which it says first.
fn mismatch(a: &[Size], b: &[Size]) -> Option<String> {
    let folded = |shape: &[Size]| shape.iter().fold(1, |all: Size, &size| all.saturating_mul(size));
    Some(match (a, b) {
        ([n], [m]) => format!(
            "inconsistent tensor size, expected tensor [{n}] and src [{m}] to have the same number of elements, but got {n} and {m} elements respectively"
        ),
        ([rows @ .., columns], [vector]) => {
            format!("size mismatch, got input ({0}), mat ({0}x{columns}), vec ({vector})", folded(rows))
        }
        ([rows @ .., columns], [inner, outer]) => {
            format!(
                "mm: mat1 and mat2 shapes cannot be multiplied ({}x{columns} and {inner}x{outer})",
                folded(rows)
            )
        }
        ([columns], [batch @ .., inner, outer]) if folded(batch) == 1 => {
            format!("size mismatch, got input ({outer}), mat ({outer}x{inner}), vec ({columns})")
        }
        ([.., columns], [batch @ .., inner, _]) => {
            let batch = broadcast_shape(&[&a[..a.len().saturating_sub(2)], batch]).ok()?.numel();
            format!(
                "Expected size for first two dimensions of batch2 tensor to be: [{batch}, {columns}] but got: [{batch}, {inner}]."
            )
        }
        _ => return None,
    })
}

/// `einsum(equation, ...)`.
pub(crate) fn einsum(equation: &str, operands: Vec<Operand>) -> Combined {
    let compact: String = equation.chars().filter(|c| !c.is_whitespace()).collect();
    let (inputs, output) = match compact.split_once("->") {
        Some((inputs, output)) => (inputs.to_owned(), Some(output.to_owned())),
        None => (compact, None),
    };
    let terms: Vec<&str> = inputs.split(',').collect();
    if terms.len() != operands.len() {
        let (terms, given) = (terms.len(), operands.len());
        return Err(format!("einsum(): the equation has {terms} operands, and {given} were given"));
    }
    let call = format!("einsum(\"{equation}\", {})", names(&operands).join(", "));
    let (mut written, mut read): (Vec<Dim>, Vec<Vec<Dim>>) = (Vec::new(), Vec::new());
    let mut distinct: Vec<Operand> = Vec::new();
    for (at, (term, operand)) in terms.iter().zip(operands).enumerate() {
        let dims = dims_of(term, at, operand.shape.len())?;
        written.extend(&dims);
        let (operand, dims) = diagonals(operand, dims, at)?;
        distinct.push(operand);
        read.push(dims);
    }
    let operands = distinct;
    let mut seen: Vec<Dim> = Vec::new();
    for dim in read.iter().flatten() {
        if !seen.contains(dim) {
            seen.push(*dim);
        }
    }
    let covered = seen.iter().filter(|dim| matches!(dim, Dim::Batch(_))).count();
    let batch = (0..covered).rev().map(Dim::Batch);
    let output = match output {
        Some(output) => {
            let ellipsis = if output.contains("...") { covered } else { 0 };
            let output =
                dims_of(&output, operands.len(), output.replace("...", "").chars().count() + ellipsis)?;
            let twice = output.iter().enumerate().find(|(at, dim)| output[..*at].contains(dim));
            if let Some((_, Dim::Letter(letter))) = twice {
                return Err(format!(
                    "einsum(): output subscript {letter} appears more than once in the output"
                ));
            }
            output
        }
        None => {
            let once = |dim: &&Dim| written.iter().filter(|other| other == dim).count() == 1;
            let mut letters: Vec<char> = seen
                .iter()
                .filter(once)
                .filter_map(|dim| match dim {
                    Dim::Letter(letter) => Some(*letter),
                    Dim::Batch(_) => None,
                })
                .collect();
            letters.sort_unstable();
            batch.clone().chain(letters.into_iter().map(Dim::Letter)).collect()
        }
    };
    if let Some(Dim::Letter(unknown)) = output.iter().find(|dim| !seen.contains(dim)) {
        return Err(format!(
            "einsum(): output subscript {unknown} does not appear in the equation for any input operand"
        ));
    }
    // In the order in which letters occur no operand is transposed, if the output has that order, too.
    let mut order: Vec<Dim> =
        batch.chain(seen.iter().copied().filter(|dim| matches!(dim, Dim::Letter(_)))).collect();
    if !order.iter().filter(|dim| output.contains(dim)).eq(&output) {
        order.retain(|dim| !output.contains(dim));
        order = output.iter().copied().chain(order).collect();
    }
    combine(operands, &read, &order, &output, call)
}

/// The dimensions that a term of an equation names.
fn dims_of(term: &str, operand: usize, ndim: usize) -> Result<Vec<Dim>, String> {
    let letters = term.replacen("...", "", 1);
    if let Some(wrong) = letters.chars().find(|letter| !letter.is_ascii_alphabetic()) {
        return Err(format!("einsum(): invalid subscript {wrong}, subscripts must be in [a-zA-Z]"));
    }
    let count = letters.chars().count();
    let covered = ndim.checked_sub(count).filter(|covered| term.contains("...") || *covered == 0);
    let Some(covered) = covered else {
        return Err(format!(
            "einsum(): the number of subscripts in the equation ({count}) does not match the number of dimensions ({ndim}) for operand {operand} and no ellipsis was given"
        ));
    };
    let (before, after) = term.split_once("...").unwrap_or((term, ""));
    let letters = |text: &str| text.chars().map(Dim::Letter).collect::<Vec<_>>();
    Ok([letters(before), (0..covered).rev().map(Dim::Batch).collect(), letters(after)].concat())
}

/// An operand with the diagonal of each two dimensions that have one letter, as the last dimension.
fn diagonals(mut operand: Operand, mut dims: Vec<Dim>, number: usize) -> Result<(Operand, Vec<Dim>), String> {
    let first_of = |dims: &[Dim], at: usize| dims[..at].iter().position(|dim| *dim == dims[at]);
    let repeated = |dims: &[Dim]| (0..dims.len()).find_map(|at| Some((first_of(dims, at)?, at)));
    while let Some((first, second)) = repeated(&dims) {
        let (size, other) = (operand.shape[first], operand.shape[second]);
        if let (true, Dim::Letter(letter)) = (size != other, dims[first]) {
            return Err(format!(
                "einsum(): subscript {letter} is repeated for operand {number} but the sizes don't match, {other} != {size}"
            ));
        }
        let kept: Vec<usize> = (0..dims.len()).filter(|at| ![first, second].contains(at)).collect();
        let step = |dim: usize| operand.shape[dim + 1..].iter().product::<Size>();
        let walk = kept.iter().map(|&dim| (operand.shape[dim], step(dim)));
        let walk: Vec<(Size, Size)> = walk.chain([(size, step(first) + step(second))]).collect();
        let name = operand.name.unwrap_or_default();
        let places = if dims.len() == 2 { String::new() } else { format!("0, {first}, {second}") };
        operand = Operand {
            name: Some(format!("{name}.diagonal({places})")),
            shape: walk.iter().map(|(size, _)| *size).collect(),
            values: operand.values.as_ref().map(|values| gathered(values, &walk)),
            ..operand
        };
        dims = kept.iter().map(|&dim| dims[dim]).chain([dims[first]]).collect();
    }
    Ok((operand, dims))
}

/// The names, which the caller has given to all.
fn names(operands: &[Operand]) -> Vec<String> {
    operands.iter().map(|operand| operand.name.clone().unwrap_or_default()).collect()
}

/// Views with one dimension for each of `order`, multiplied, and summed over what the output lacks.
fn combine(
    operands: Vec<Operand>,
    inputs: &[Vec<Dim>],
    order: &[Dim],
    output: &[Dim],
    expression: String,
) -> Combined {
    let dtypes: Vec<DType> =
        operands.iter().map(|operand| operand.dtype.unwrap_or(DType::DEFAULT_FLOAT)).collect();
    if let Some(other) = dtypes.iter().find(|dtype| **dtype != dtypes[0]) {
        let (one, other) = (dtypes[0].torch_name(), other.torch_name());
        return Err(format!("expected operands of the same dtype, but got: {one} != {other}"));
    }
    let named = names(&operands);
    let dims: Vec<usize> = (0..order.len()).filter(|at| !output.contains(&order[*at])).collect();
    let views: Vec<Operand> = operands
        .into_iter()
        .zip(inputs)
        .zip(named)
        .map(|((operand, own), name)| view(&operand, name, own, order))
        .collect();
    // A size of 1 goes with any other here, too.
    for (at, dim) in order.iter().enumerate() {
        let Dim::Letter(letter) = dim else { continue };
        let mut known = 1;
        for (number, view) in views.iter().enumerate() {
            let own = (at + view.shape.len()).checked_sub(order.len()).map_or(1, |own| view.shape[own]);
            if own != 1 && known != 1 && own != known {
                return Err(format!(
                    "einsum(): subscript {letter} has size {own} for operand {number} which does not broadcast with previously seen size {known}"
                ));
            }
            known = if known == 1 { own } else { known };
        }
    }
    let op = (views.len() > 1).then_some(Op::Mul);
    let reduction = Some(Reduction { op: Op::Sum, dims, keepdim: false });
    Ok((views, Options { op, reduction, expression: Some(expression), ..Options::default() }))
}

/// The view of an operand with its dimensions in an order; those that it lacks are added with size 1, but for
/// the first ones, which a broadcast adds itself. The name is the call that makes it.
fn view(operand: &Operand, name: String, own: &[Dim], order: &[Dim]) -> Operand {
    let mut call = name;
    let moved: Vec<usize> = order.iter().filter_map(|dim| own.iter().position(|one| one == dim)).collect();
    let is_moved = !moved.is_sorted();
    if is_moved {
        call += &match moved.len() {
            2 => ".t()".to_owned(),
            _ => format!(".permute({})", moved.iter().map(usize::to_string).collect::<Vec<_>>().join(", ")),
        };
    }
    let mut shape: Vec<Size> = Vec::new();
    for dim in order.iter().skip_while(|dim| !own.contains(dim)) {
        match own.iter().position(|one| one == dim) {
            Some(at) => shape.push(operand.shape[at]),
            None => {
                call += &format!(".unsqueeze({})", shape.len());
                shape.push(1);
            }
        }
    }
    let values = operand.values.as_ref().map(|values| match is_moved {
        true => permuted(values, &operand.shape, &moved),
        false => values.clone(),
    });
    Operand { name: Some(call), shape, dtype: operand.dtype, values }
}

/// The elements of a permuted tensor, in row-major order.
fn permuted(values: &[String], shape: &[Size], moved: &[usize]) -> Vec<String> {
    let step = |dim: usize| shape[dim + 1..].iter().product::<Size>();
    gathered(values, &moved.iter().map(|&dim| (shape[dim], step(dim))).collect::<Vec<_>>())
}

/// The elements along dimensions of these sizes and strides, in row-major order.
fn gathered(values: &[String], walk: &[(Size, Size)]) -> Vec<String> {
    let offsets = walk.iter().fold(vec![0], |offsets: Vec<Size>, &(size, step)| {
        offsets.iter().flat_map(|offset| (0..size).map(move |at| offset + at * step)).collect()
    });
    offsets.iter().map(|&offset| values[offset as usize].clone()).collect()
}
