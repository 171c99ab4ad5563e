//! Owns `einsum`: the notation, which gives every dimension of every operand a letter, and the products and
//! sums that it means. It does not know how they run.
//!
//! The algorithm is ATen's (`Linear.cpp`). Operands are aligned: each gets one dimension for every letter,
//! those of the output first and in its order, then those that are summed over. They are multiplied from left
//! to right, and a letter is summed over at the last operand that has it.

use smallvec::{SmallVec, smallvec};
use zerostride_ops::{DType, Op, Typed, promote_types, result_type};

use super::contract::numel;
use super::{DimList, Expr, keepdim, product};
use crate::{Error, Result};

/// The letters, upper case before lower case: the order that an output gets if the equation has none.
const LETTERS: usize = 52;

/// The code of `...` among letters.
const ELLIPSIS: usize = LETTERS;

type Letters = SmallVec<[usize; 8]>;

type Places = SmallVec<[usize; 8]>;

/// The sum of products that an equation over the dimensions of operands describes, as `torch.einsum`.
///
/// Each operand has a letter for every dimension. A letter that occurs twice in one operand takes the
/// diagonal; one that is not in the output is summed over. Without `->` the output has the letters that occur
/// once, in alphabetical order. `...` is for dimensions without letters, which broadcast, as sizes of 1 do
/// everywhere. If two operands each have letters of their own and share some that are summed over, they are
/// multiplied as matrices; other sums take one pass that stores no products.
///
/// Shapes: `(n, k), (k, m) -> (n, m)` for `"ij,jk->ik"`.
///
/// ```
/// use zerostride::{einsum, tensor};
/// let (a, b) = (tensor![[1, 2], [3, 4]], tensor![10, 1]);
/// assert_eq!(einsum("ij,j->i", [&a, &b]).eval()?.to_vec::<i64>()?, [12, 34]);
/// assert_eq!(einsum("ii", [&a]).eval()?.item::<i64>()?, 5);
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn einsum<E: Into<Expr>>(equation: &str, operands: impl IntoIterator<Item = E>) -> Expr {
    let operands: Vec<Expr> = operands.into_iter().map(Into::into).collect();
    summed_products(equation, &operands).unwrap_or_else(|error| Expr::refused("einsum", &operands, error))
}

fn summed_products(equation: &str, operands: &[Expr]) -> Result<Expr> {
    let (inputs, output) = match equation.split_once("->") {
        Some((inputs, output)) => (inputs, Some(output)),
        None => (equation, None),
    };
    let inputs = letters_of_operands(inputs, operands.len())?;
    let order = DimPositions::new(equation, &inputs, output, operands)?;
    let operands = with_dtypes(operands)?;
    if let [operand] = &operands[..] {
        return order.sum_of_one(&inputs[0], operand.clone());
    }
    let mut factors = order.aligned(&inputs, operands)?;
    let mut product = factors.remove(0);
    let summed = order.kept..order.ndim;
    let (dtype, mut is_uniform) = (product.dtype()?, true);
    for factor in &factors {
        is_uniform &= factor.dtype()? == dtype;
    }
    for (number, factor) in factors.iter().enumerate() {
        let (mut own, mut theirs, mut both) = (Places::new(), Places::new(), Places::new());
        for dim in summed.clone() {
            let mut is_over = true;
            for later in &factors[number + 1..] {
                is_over &= later.shape()?[dim] == 1;
            }
            match (product.shape()?[dim] != 1, factor.shape()?[dim] != 1) {
                (true, true) if is_over => both.push(dim),
                (true, false) if is_over => own.push(dim),
                (false, true) if is_over => theirs.push(dim),
                _ => {}
            }
        }
        let (mut a, mut b) = (sum_over(&product, &own), sum_over(factor, &theirs));
        // A sum of integers is i64. PyTorch then refuses to multiply it as a matrix with another dtype.
        if is_uniform {
            let met = promote_types(a.dtype()?, b.dtype()?)?;
            (a, b) = (a.to_dtype(met), b.to_dtype(met));
        }
        // After the last product, the dimensions that were summed over are dropped.
        let end = if number + 1 == factors.len() { order.kept } else { order.ndim };
        product = contracted(&a, &b, &both, end)?;
    }
    Ok(product)
}

/// The operands; numbers are converted to the dtype that all operands promote to.
fn with_dtypes(operands: &[Expr]) -> Result<Vec<Expr>> {
    let typed = operands.iter().map(|operand| Ok(operand.meta()?.typed));
    let typed = typed.collect::<Result<SmallVec<[Typed; 4]>>>()?;
    let converted = |operand: &Expr| match operand.is_number() {
        true => Ok(operand.to_dtype(result_type(&typed)?)),
        false => Ok(operand.clone()),
    };
    operands.iter().map(converted).collect()
}

/// The letters of each operand.
fn letters_of_operands(text: &str, operands: usize) -> Result<Vec<Letters>> {
    let refused = |what: &str| Err(Error::runtime(format_args!("einsum(): {what}")));
    if operands == 0 {
        return refused("must provide at least one operand");
    }
    let (mut all, mut letters) = (Vec::new(), Letters::new());
    let mut symbols = text.bytes().enumerate();
    while let Some((index, symbol)) = symbols.next() {
        match symbol {
            b' ' => {}
            b'.' if letters.contains(&ELLIPSIS) => {
                let operand = all.len();
                return refused(&format!(
                    "found '.' for operand {operand} for which an ellipsis was already found"
                ));
            }
            b'.' if is_ellipsis(&mut symbols) => letters.push(ELLIPSIS),
            b'.' => {
                let operand = all.len();
                return refused(&format!("found '.' for operand {operand} that is not part of any ellipsis"));
            }
            b',' if all.len() + 1 == operands => {
                return refused("fewer operands were provided than specified in the equation");
            }
            b',' => all.push(std::mem::take(&mut letters)),
            symbol => letters.push(letter(symbol, index)?),
        }
    }
    all.push(letters);
    if all.len() < operands {
        return refused("more operands were provided than specified in the equation");
    }
    Ok(all)
}

/// Whether two more dots follow, which make an ellipsis.
fn is_ellipsis(symbols: &mut impl Iterator<Item = (usize, u8)>) -> bool {
    (0..2).all(|_| symbols.next().is_some_and(|(_, symbol)| symbol == b'.'))
}

fn letter(symbol: u8, index: usize) -> Result<usize> {
    match symbol {
        b'A'..=b'Z' => Ok(usize::from(symbol - b'A')),
        b'a'..=b'z' => Ok(usize::from(symbol - b'a') + 26),
        _ => Err(Error::runtime(format_args!(
            "einsum(): invalid subscript given at index {index} in the equation string, subscripts must be in [a-zA-Z]"
        ))),
    }
}

fn symbol(letter: usize) -> char {
    char::from(if letter < 26 { b'A' + letter as u8 } else { b'a' + (letter - 26) as u8 })
}

/// The positions of dimensions in aligned operands.
struct DimPositions {
    /// The position of each letter that occurs.
    places: [Option<usize>; LETTERS],
    /// The first dimension that `...` stands for, and how many there are.
    ellipsis: usize,
    covered: usize,
    /// The number of dimensions of the output; those after them are summed over.
    kept: usize,
    ndim: usize,
}

impl DimPositions {
    fn new(
        equation: &str,
        inputs: &[Letters],
        output: Option<&str>,
        operands: &[Expr],
    ) -> Result<DimPositions> {
        let mut counts = [0; LETTERS];
        let mut covered = 0;
        for (number, (letters, operand)) in inputs.iter().zip(operands).enumerate() {
            let ndim = operand.shape()?.len();
            letters.iter().filter(|letter| **letter != ELLIPSIS).for_each(|&letter| counts[letter] += 1);
            let has_ellipsis = letters.contains(&ELLIPSIS);
            let named = letters.len() - usize::from(has_ellipsis);
            if has_ellipsis && named > ndim {
                return Err(Error::runtime(format_args!(
                    "einsum(): the number of subscripts in the equation ({named}) is more than the number of dimensions ({ndim}) for operand {number}"
                )));
            }
            if !has_ellipsis && named != ndim {
                return Err(Error::runtime(format_args!(
                    "einsum(): the number of subscripts in the equation ({named}) does not match the number of dimensions ({ndim}) for operand {number} and no ellipsis was given"
                )));
            }
            if has_ellipsis {
                covered = covered.max(ndim - named);
            }
        }
        let mut order = DimPositions { places: [None; LETTERS], ellipsis: 0, covered, kept: 0, ndim: 0 };
        match output {
            Some(output) => order.keep(output, equation.len() - output.len(), &counts)?,
            None => {
                order.ndim = covered;
                (0..LETTERS).filter(|letter| counts[*letter] == 1).for_each(|letter| order.append(letter));
                order.kept = order.ndim;
            }
        }
        let rest = (0..LETTERS).filter(|letter| counts[*letter] > 0);
        rest.for_each(|letter| order.append(letter));
        Ok(order)
    }

    /// Gives a letter the next dimension, unless it has one.
    fn append(&mut self, letter: usize) {
        if self.places[letter].is_none() {
            self.places[letter] = Some(self.ndim);
            self.ndim += 1;
        }
    }

    /// Reads the output's letters, which start at byte `start` of the equation.
    fn keep(&mut self, output: &str, start: usize, counts: &[usize; LETTERS]) -> Result<()> {
        let mut has_ellipsis = false;
        let mut symbols = output.bytes().enumerate();
        while let Some((index, found)) = symbols.next() {
            match found {
                b' ' => {}
                b'.' if has_ellipsis => {
                    return Err(Error::runtime(
                        "einsum(): found '.' for output but an ellipsis (...) was already found",
                    ));
                }
                b'.' if is_ellipsis(&mut symbols) => {
                    (self.ellipsis, has_ellipsis) = (self.ndim, true);
                    self.ndim += self.covered;
                }
                b'.' => {
                    return Err(Error::runtime(
                        "einsum(): found '.' for output that is not part of any ellipsis (...)",
                    ));
                }
                found => {
                    let letter = letter(found, start + index)?;
                    if self.places[letter].is_some() {
                        return Err(Error::runtime(format_args!(
                            "einsum(): output subscript {} appears more than once in the output",
                            symbol(letter)
                        )));
                    }
                    if counts[letter] == 0 {
                        return Err(Error::runtime(format_args!(
                            "einsum(): output subscript {} does not appear in the equation for any input operand",
                            symbol(letter)
                        )));
                    }
                    self.append(letter);
                }
            }
        }
        self.kept = self.ndim;
        if !has_ellipsis {
            self.ellipsis = self.ndim;
            self.ndim += self.covered;
        }
        Ok(())
    }

    /// The result of an equation with one operand, which needs no alignment.
    fn sum_of_one(&self, letters: &Letters, operand: Expr) -> Result<Expr> {
        let (operand, dims) = self.placed(0, letters, operand, &mut smallvec![1; self.ndim])?;
        let dims: Places = dims.into_iter().flatten().collect();
        let (kept, summed) = dims.split_at(self.kept);
        if summed.is_empty() {
            return Ok(permuted(&operand, kept));
        }
        let before = |dim: usize| summed.iter().filter(|gone| **gone < dim).count();
        let kept: Places = kept.iter().map(|&dim| dim - before(dim)).collect();
        Ok(permuted(&operand.sum(&signed(summed)[..]), &kept))
    }

    /// The operands with one dimension for every position, of size 1 where they have no letter for it.
    fn aligned(&self, inputs: &[Letters], operands: Vec<Expr>) -> Result<Vec<Expr>> {
        let mut sizes: Places = smallvec![1; self.ndim];
        let mut all = Vec::with_capacity(operands.len());
        for (number, (letters, operand)) in inputs.iter().zip(operands).enumerate() {
            let (operand, dims) = self.placed(number, letters, operand, &mut sizes)?;
            let present: Places = dims.iter().copied().flatten().collect();
            let missing = (0..self.ndim).filter(|place| dims[*place].is_none());
            let widened = |operand: Expr, place: usize| operand.unsqueeze(place as isize);
            all.push(missing.fold(permuted(&operand, &present), widened));
        }
        Ok(all)
    }

    /// An operand with one dimension for each of its letters, and that dimension for each position. Checks
    /// that its sizes broadcast with those of the operands so far.
    fn placed(
        &self,
        number: usize,
        letters: &Letters,
        mut operand: Expr,
        sizes: &mut Places,
    ) -> Result<(Expr, SmallVec<[Option<usize>; 8]>)> {
        let ndim = operand.shape()?.len();
        // For each position, the operand's dimension; then the next dimension to be placed.
        let mut dims: SmallVec<[Option<usize>; 8]> = smallvec![None; self.ndim];
        let mut dim = 0;
        for &letter in letters {
            let places = match letter {
                ELLIPSIS => {
                    let end = self.ellipsis + self.covered;
                    end - (ndim + 1 - letters.len())..end
                }
                letter => self.places[letter].map_or(0..0, |place| place..place + 1),
            };
            for place in places {
                let size = operand.shape()?[dim];
                if let Some(first) = dims[place] {
                    let other = operand.shape()?[first];
                    if size != other {
                        return Err(Error::runtime(format_args!(
                            "einsum(): subscript {} is repeated for operand {number} but the sizes don't match, {size} != {other}",
                            symbol(letter)
                        )));
                    }
                    let (first, second) = (first as isize, dim as isize);
                    operand = operand.diagonal(0, first, second).movedim(&[-1], &[first]);
                    continue;
                }
                let known = sizes[place];
                if size != 1 && known != 1 && size != known {
                    return Err(match letter {
                        // PyTorch's message has no space there either.
                        ELLIPSIS => Error::runtime(format_args!(
                            "einsum(): dimension {dim} covered by ellipsis in operand {number}has size {size} which does not broadcast with previously seen ellipsis with size {known} for the respective dimension"
                        )),
                        letter => Error::runtime(format_args!(
                            "einsum(): subscript {} has size {size} for operand {number} which does not broadcast with previously seen size {known}",
                            symbol(letter)
                        )),
                    });
                }
                if size != 1 {
                    sizes[place] = size;
                }
                (dims[place], dim) = (Some(dim), dim + 1);
            }
        }
        Ok((operand, dims))
    }
}

/// The dimensions in another order; the operand itself if the order is the same.
fn permuted(x: &Expr, dims: &[usize]) -> Expr {
    if dims.is_sorted() { x.clone() } else { x.permute(&signed(dims)) }
}

/// The elements in another shape; the operand itself if the shape is the same.
fn reshaped(x: &Expr, sizes: &[usize]) -> Result<Expr> {
    Ok(if x.shape()? == sizes { x.clone() } else { x.reshape(&signed(sizes)) })
}

fn signed(numbers: &[usize]) -> DimList {
    numbers.iter().map(|&number| number as isize).collect()
}

/// The sums over dimensions, which keep size 1.
fn sum_over(x: &Expr, dims: &[usize]) -> Expr {
    if dims.is_empty() { x.clone() } else { x.sum(keepdim(&signed(dims)[..])) }
}

/// Drops the dimensions from `end` on, all of which have size 1.
fn before(x: Expr, end: usize) -> Result<Expr> {
    let dims: DimList = (end..x.shape()?.len()).map(|dim| dim as isize).collect();
    Ok(if dims.is_empty() { x } else { x.squeeze_dims(&dims) })
}

/// The products of two aligned factors, summed over dimensions of both. The result is aligned as well, and
/// has the dimensions before `end`.
fn contracted(a: &Expr, b: &Expr, summed: &[usize], end: usize) -> Result<Expr> {
    if summed.is_empty() {
        return before(Expr::map_within(Op::Mul, [a.clone(), b.clone()]), end);
    }
    let dtype = a.dtype()?;
    product::check_batches(dtype, b.dtype()?)?;
    let (own, theirs) = (a.shape()?, b.shape()?);
    let (mut batch, mut rows, mut columns, mut ones) =
        (Places::new(), Places::new(), Places::new(), Places::new());
    for dim in (0..own.len()).filter(|dim| !summed.contains(dim)) {
        let group = match (own[dim] != 1, theirs[dim] != 1) {
            (true, true) => &mut batch,
            (true, false) => &mut rows,
            (false, true) => &mut columns,
            (false, false) => &mut ones,
        };
        group.push(dim);
    }
    if rows.is_empty() && columns.is_empty() {
        // A sum of products of vectors, accumulated in the dtype in which matrix products accumulate.
        let wide = if dtype.is_half() { DType::F32 } else { dtype };
        let products = Expr::map_within(Op::Mul, [a.to_dtype(wide), b.to_dtype(wide)]);
        return before(sum_over(&products, summed).to_dtype(dtype), end);
    }
    // Swaps the factors if that gives the product's dimensions in the order of the output.
    if columns.first().is_some_and(|column| rows.first().is_some_and(|row| column < row)) {
        return contracted(b, a, summed, end);
    }
    let sizes = |shape: &[usize], dims: &[usize]| dims.iter().map(|&dim| shape[dim]).collect::<Places>();
    let (outer, n, m) = (sizes(own, &batch), sizes(own, &rows), sizes(theirs, &columns));
    let k = numel(&sizes(own, summed))? as usize;
    // A factor without letters of its own is a vector, or with batch dimensions a matrix of one row or
    // column.
    let inner = |sizes: &[usize]| -> Result<Places> {
        let is_vector = sizes.is_empty() && batch.is_empty();
        Ok(if is_vector { Places::new() } else { smallvec![numel(sizes)? as usize] })
    };
    // Where only one factor has a letter, the other has size 1.
    let left = permuted(a, &[&batch[..], &rows, &columns, &ones, summed].concat());
    let left = reshaped(&left, &[&outer[..], &inner(&n)?, &[k]].concat())?;
    let right = permuted(b, &[&batch[..], &rows, &ones, summed, &columns].concat());
    let right = reshaped(&right, &[&outer[..], &[k], &inner(&m)?].concat())?;
    let product = reshaped(&left.matmul(right), &[&outer[..], &n, &m].concat())?;
    let places = [&batch[..], &rows, &columns].concat();
    let mut order: Places = (0..places.len()).collect();
    order.sort_by_key(|&dim| places[dim]);
    let missing = (0..end).filter(|dim| !places.contains(dim));
    Ok(missing.fold(permuted(&product, &order), |product, dim| product.unsqueeze(dim as isize)))
}
