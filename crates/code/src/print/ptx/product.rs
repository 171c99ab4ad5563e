//! Owns the kernel of matrix products, and of other reductions over pairs of rows and columns: a block of
//! threads has tiles of both factors in shared memory, of which each thread sums the products of a few rows
//! and columns. It does not know what a product of two elements is, nor what a sum is.
//!
//! Products are summed in chains of so many, one after the other, and chains are added in order.

use super::body::KernelBody;
use super::operands::{
    Argument, Divisor, RegisterOperand, Sizes, element_at, elements, load, push_divisor, push_operand,
    push_sizes, store,
};
use super::reduce::replace;
use super::writer::{KernelWriter, Kind, Register, stored};
use super::{Kernel, MAX_ELEMENTS, THREADS};
use crate::code::{Code, Type};
use crate::print::Unprintable;

/// The elements of a line that tiles hold at a time, and threads side by side: as many in both directions.
const SIDE: u32 = 16;

/// Products that are written one after the other, without a test in between.
const UNROLLED: u32 = 4;

/// What is multiplied, summed and stored. Elements of factors and results are of so many parts.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProductCodes {
    /// From an element of a factor to what is multiplied, parts of one type.
    pub widen: Code,
    /// From what is multiplied of a left and of a right element, and then the sums of a chain, to the sums
    /// with this product.
    pub extend: Code,
    /// The bits of the sums of a chain without products.
    pub start: Vec<u64>,
    /// From totals, and then the sums of a chain, to the totals with it.
    pub add: Code,
    /// From totals to an element of the result.
    pub ending: Code,
    /// The bits of the totals of no chain.
    pub empty: Vec<u64>,
}

impl ProductCodes {
    /// The types of what is multiplied, of the sums of a chain and of totals.
    fn types(&self) -> Result<[Vec<Type>; 3], Unprintable> {
        let results = |code: &Code| code.result_types().collect::<Vec<_>>();
        let [wide, sums, totals] = [&self.widen, &self.extend, &self.add].map(results);
        let is_sound = wide.iter().all(|&ty| ty == wide[0])
            && self.extend.inputs() == [&wide[..], &wide, &sums].concat()
            && self.add.inputs() == [&totals[..], &sums].concat()
            && self.ending.inputs() == totals
            && [self.start.len(), self.empty.len()] == [sums.len(), totals.len()];
        if is_sound { Ok([wide, sums, totals]) } else { Err(Unprintable::Operands) }
    }

    /// The rows and the columns that a thread sums.
    fn lines(&self) -> u32 {
        if self.empty.len() == 1 { 4 } else { 2 }
    }
}

/// Products of matrices: rows of the left factor by columns of the right one, which are its *lines*.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductLoop {
    /// How many matrices there are along each dimension, the outermost first.
    pub batch: Vec<u32>,
    /// The lines of each factor.
    pub lines: [u32; 2],
    /// The elements of a line.
    pub depth: u32,
    /// The factors, in memory, with strides along the batch, from line to line, and along a line.
    pub factors: [Argument; 2],
    /// The address of the results, which are contiguous in row-major order.
    pub result: u64,
    /// The products of a chain, a power of two from 16 on.
    pub chain: u32,
}

/// What is printed of products besides the codes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProductForm {
    /// How many dimensions the batch has.
    pub batch: usize,
    /// Whether neighbours in memory are in one line of a factor; otherwise they are in neighbouring lines.
    pub are_along: [bool; 2],
    /// The products of a chain.
    pub chain: u32,
}

impl ProductLoop {
    /// What is to be printed for it.
    ///
    /// # Errors
    /// If it has other operands, other chains, or too many elements.
    pub fn form(&self) -> Result<ProductForm, Unprintable> {
        let dims = self.batch.len() + 2;
        let is_along = |factor: &Argument| match factor {
            Argument::Elements { strides, .. } if strides.len() == dims => {
                Some(strides[dims - 1].unsigned_abs() <= strides[dims - 2].unsigned_abs())
            }
            _ => None,
        };
        let [Some(left), Some(right)] = [0, 1].map(|factor| is_along(&self.factors[factor])) else {
            return Err(Unprintable::Operands);
        };
        if !self.chain.is_power_of_two() || self.chain < SIDE {
            return Err(Unprintable::Operands);
        }
        let all: Vec<u32> = self.batch.iter().chain(&self.lines).copied().collect();
        // Lines and elements are numbered beyond the last tile.
        let is_short = |size: u32| u64::from(size) <= MAX_ELEMENTS - u64::from(THREADS);
        if elements(&all) > MAX_ELEMENTS
            || !self.lines.iter().chain([&self.depth]).all(|&size| is_short(size))
        {
            return Err(Unprintable::Elements);
        }
        Ok(ProductForm { batch: self.batch.len(), are_along: [left, right], chain: self.chain })
    }

    fn tiles(&self, codes: &ProductCodes) -> [u32; 2] {
        self.lines.map(|lines| lines.div_ceil(codes.lines() * SIDE))
    }

    /// The arguments of its kernel.
    pub fn arguments(&self, codes: &ProductCodes) -> Vec<u64> {
        let mut arguments = Vec::new();
        let [left, right] = self.tiles(codes);
        push_divisor(&mut arguments, right);
        push_divisor(&mut arguments, left);
        arguments.extend(self.lines.iter().chain([&self.depth]).map(|&size| u64::from(size)));
        push_sizes(&mut arguments, self.batch.iter().copied());
        self.factors.iter().for_each(|factor| push_operand(&mut arguments, factor));
        arguments.push(self.result);
        arguments
    }

    /// How many blocks are launched; none if there are no results.
    pub fn blocks(&self, codes: &ProductCodes) -> u32 {
        let batch = elements(&self.batch) as u32;
        // The tiles of no products at all may be more than can be counted.
        if batch == 0 { 0 } else { batch * self.tiles(codes).into_iter().product::<u32>() }
    }
}

/// A tile of a factor in shared memory: for each part and each element of a line those of all lines.
struct Tile {
    ty: Type,
    parts: u32,
    lines: u32,
    /// Bytes of a part.
    own: u32,
    /// Bytes from an element of a line to the next, with a gap so that neighbours are in other banks.
    step: u32,
    /// Bytes from a part to the next.
    part: u32,
    /// Bytes before it.
    first: u32,
}

impl Tile {
    fn new(factor: u32, wide: &[Type], lines: u32) -> Tile {
        let (ty, parts, lines) = (wide[0], wide.len() as u32, lines * SIDE);
        let own = ty.bytes();
        let step = (lines + 1) * own;
        let part = (step * SIDE).next_multiple_of(8);
        Tile { ty, parts, lines, own, step, part, first: factor * part * parts }
    }

    /// Where the first element of a line is.
    fn line(&self, writer: &mut KernelWriter, line: Register, shared: Register) -> Register {
        let own = writer.make(Kind::Word, "mad.lo.u32", format_args!("{line}, {}, {shared}", self.own));
        writer.make(Kind::Word, "add.u32", format_args!("{own}, {}", self.first))
    }

    /// An element of each line of a thread, from the address of its first one and so many elements on.
    fn elements(&self, writer: &mut KernelWriter, at: Register, place: u32) -> Vec<Vec<Register>> {
        let name = format!("ld.shared.{}", stored(self.ty));
        let mut part = |line: u32, part: u32| {
            let offset = place * self.step + line * SIDE * self.own + part * self.part;
            writer.make(Kind::of(self.ty), &name, format_args!("[{at}+{offset}]"))
        };
        let lines = 0..self.lines / SIDE;
        lines.map(|line| (0..self.parts).map(|own| part(line, own)).collect()).collect()
    }
}

/// How a thread fills its part of a tile.
struct Filling<'a> {
    tile: &'a Tile,
    /// Where its lines begin in memory: one for each of its elements.
    lines: Vec<Register>,
    /// The number of its element in each of these lines, from the first of a tile on.
    places: Vec<Register>,
    /// Bytes from one element of a line to the next.
    stride: Register,
    /// Where its first element goes, and bytes from there to the next.
    to: Register,
    apart: u32,
}

impl<'a> Filling<'a> {
    /// A thread's part of a factor, whose first line in the tile has a number, out of so many in all.
    fn new(
        writer: &mut KernelWriter,
        (tile, factor): (&'a Tile, &RegisterOperand),
        (thread, shared): (Register, Register),
        (first, count): (Register, Register),
        is_along: bool,
    ) -> Option<Filling<'a>> {
        let RegisterOperand::Elements { address, strides } = factor else { return None };
        // As many elements as lines, in as many lines or one after the other in one.
        let (inner, line_step, place_step) =
            if is_along { (SIDE, SIDE, 0) } else { (tile.lines, 0, THREADS / tile.lines) };
        let low = writer.make(Kind::Word, "and.b32", format_args!("{thread}, {}", inner - 1));
        let high = writer.make(Kind::Word, "shr.u32", format_args!("{thread}, {}", inner.ilog2()));
        let (line, place) = if is_along { (high, low) } else { (low, high) };
        let last = writer.make(Kind::Word, "sub.u32", format_args!("{count}, 1"));
        let first = writer.make(Kind::Word, "add.u32", format_args!("{first}, {line}"));
        let (mut lines, mut places) = (Vec::new(), Vec::new());
        for nth in 0..tile.lines / SIDE {
            // Lines beyond the last one are the last one again, whose sums are not stored.
            let own = writer.make(Kind::Word, "add.u32", format_args!("{first}, {}", nth * line_step));
            let own = writer.make(Kind::Word, "min.u32", format_args!("{own}, {last}"));
            lines.push(element_at(writer, own, strides[0], *address));
            places.push(writer.make(Kind::Word, "add.u32", format_args!("{place}, {}", nth * place_step)));
        }
        let to = writer.make(Kind::Word, "mad.lo.u32", format_args!("{line}, {}, {shared}", tile.own));
        let to = writer.make(Kind::Word, "mad.lo.u32", format_args!("{place}, {}, {to}", tile.step));
        let to = writer.make(Kind::Word, "add.u32", format_args!("{to}, {}", tile.first));
        let apart = line_step * tile.own + place_step * tile.step;
        Some(Filling { tile, lines, places, stride: strides[1], to, apart })
    }

    /// Widens the elements of lines from one on, of which the last one has a number, and stores them in the
    /// tile.
    fn fill(
        &self,
        writer: &mut KernelWriter,
        widen: &KernelBody,
        types: &[Type],
        [start, last]: [Register; 2],
    ) {
        for ((nth, &line), &place) in (0..).zip(&self.lines).zip(&self.places) {
            let place = writer.make(Kind::Word, "add.u32", format_args!("{start}, {place}"));
            let place = writer.make(Kind::Word, "min.u32", format_args!("{place}, {last}"));
            let from = element_at(writer, place, self.stride, line);
            let offsets = (0..).step_by(types[0].bytes() as usize);
            let element: Vec<Register> =
                types.iter().zip(offsets).map(|(&ty, offset)| load(writer, ty, from, offset)).collect();
            for (part, own) in (0..).zip(widen.write(writer, &element)) {
                let offset = nth * self.apart + part * self.tile.part;
                writer.line(format_args!("st.shared.{} [{}+{offset}], {own}", stored(self.tile.ty), self.to));
            }
        }
    }
}

/// The sums of a thread.
struct Sums {
    /// Of the chain under way, for each row and column.
    chains: Vec<Vec<Register>>,
    totals: Vec<Vec<Register>>,
    /// Those of no products.
    start: Vec<Register>,
}

impl Sums {
    fn new(writer: &mut KernelWriter, codes: &ProductCodes, [sums, totals]: [&[Type]; 2]) -> Sums {
        let mut constants = |types: &[Type], bits: &[u64]| -> Vec<Register> {
            types.iter().zip(bits).map(|(&ty, &bits)| writer.constant(ty, bits)).collect()
        };
        let (start, empty) = (constants(sums, &codes.start), constants(totals, &codes.empty));
        let lines = codes.lines();
        let mut copies = |of: &[Register]| -> Vec<Vec<Register>> {
            (0..lines * lines).map(|_| of.iter().map(|&own| writer.copy(own)).collect()).collect()
        };
        Sums { chains: copies(&start), totals: copies(&empty), start }
    }

    /// Adds the products of so many elements of lines, which are in tiles from these places on.
    fn extend(
        &self,
        writer: &mut KernelWriter,
        body: &KernelBody,
        tiles: &[Tile; 2],
        at: [Register; 2],
        count: u32,
    ) {
        for place in 0..count {
            let [rows, columns] = [0, 1].map(|factor| tiles[factor].elements(writer, at[factor], place));
            let pairs = rows.iter().flat_map(|row| columns.iter().map(move |column| (row, column)));
            for ((row, column), chain) in pairs.zip(&self.chains) {
                let next = body.write(writer, &[&row[..], column, chain].concat());
                replace(writer, chain, next);
            }
        }
    }

    /// Adds chains to totals, and begins others.
    fn end_chains(&self, writer: &mut KernelWriter, body: &KernelBody) {
        for (totals, chain) in self.totals.iter().zip(&self.chains) {
            let next = body.write(writer, &[&totals[..], chain].concat());
            replace(writer, totals, next);
            chain.iter().zip(&self.start).for_each(|(&sum, &start)| writer.assign(sum, start));
        }
    }
}

/// The kernel of products.
///
/// ```
/// use zerostride_code::print::ptx::{Argument, ProductCodes, ProductLoop, product};
/// use zerostride_code::{Binary, Builder, Code, Type, Value};
/// fn code<const N: usize>(record: impl Fn(&mut Builder, [Value; N]) -> Value) -> Code {
///     let mut code = Builder::new();
///     let inputs = [(); N].map(|()| code.input(Type::F32));
///     let result = record(&mut code, inputs);
///     code.finish(&[result])
/// }
/// let (widen, ending) = (code(|_, [x]| x), code(|_, [total]| total));
/// let extend = code(|code, [a, b, sum]| code.mul_add(a, b, sum));
/// let add = code(|code, [total, sum]| code.binary(Binary::Add, total, sum));
/// let empty = vec![(-0f32).to_bits().into()];
/// let codes = ProductCodes { widen, extend, start: vec![0], add, ending, empty };
/// // 100 rows of 30 elements by 50 columns.
/// let factor = |address, strides: [i64; 2]| Argument::Elements { address, strides: strides.to_vec() };
/// let factors = [factor(0x1000, [120, 4]), factor(0x5000, [4, 200])];
/// let loops = ProductLoop { batch: vec![], lines: [100, 50], depth: 30, factors, result: 0x9000, chain: 128 };
/// assert!(product(&codes, &loops.form()?)?.text.contains("fma.rn.f32"));
/// assert_eq!(loops.blocks(&codes), 2);
/// # Ok::<(), zerostride_code::print::Unprintable>(())
/// ```
///
/// # Errors
/// If the codes do not fit to each other, or the kernel needs more arguments or shared memory than a GPU has
/// for it.
pub fn product(codes: &ProductCodes, form: &ProductForm) -> Result<Kernel, Unprintable> {
    let [wide, sums, totals] = codes.types()?;
    let (lines, narrow) = (codes.lines(), codes.widen.inputs());
    let [widen, extend, add, ending] =
        [&codes.widen, &codes.extend, &codes.add, &codes.ending].map(KernelBody::new);
    let mut kernel = KernelWriter::default();
    let writer = &mut kernel;
    let block = writer.make(Kind::Word, "mov.u32", format_args!("%ctaid.x"));
    let thread = writer.make(Kind::Word, "mov.u32", format_args!("%tid.x"));
    let (rest, right) = Divisor::read(writer).divide(writer, block);
    let (batch, left) = Divisor::read(writer).divide(writer, rest);
    let counts = [(); 2].map(|()| writer.argument(Type::W32));
    let depth = writer.argument(Type::W32);
    let sizes = Sizes::read(writer, form.batch);
    let indices = if form.batch == 0 { Vec::new() } else { sizes.indices(writer, batch) };
    let firsts = [left, right]
        .map(|tile| writer.make(Kind::Word, "mul.lo.u32", format_args!("{tile}, {}", lines * SIDE)));

    let tiles = [0, 1].map(|factor| Tile::new(factor, &wide, lines));
    writer.share(2 * tiles[1].first);
    let shared = writer.make(Kind::Word, "mov.u32", format_args!("held"));
    let mut fillings = Vec::new();
    for (factor, tile) in tiles.iter().enumerate() {
        let operand = RegisterOperand::read(writer, narrow[0], false, form.batch + 2).at(writer, &indices);
        let lines = (firsts[factor], counts[factor]);
        let is_along = form.are_along[factor];
        fillings.extend(Filling::new(writer, (tile, &operand), (thread, shared), lines, is_along));
    }
    let result = writer.argument(Type::W64);
    let across = writer.make(Kind::Word, "and.b32", format_args!("{thread}, {}", SIDE - 1));
    let down = writer.make(Kind::Word, "shr.u32", format_args!("{thread}, {}", SIDE.ilog2()));
    let own = [tiles[0].line(writer, down, shared), tiles[1].line(writer, across, shared)];
    let held = Sums::new(writer, codes, [&sums, &totals]);

    let last = writer.make(Kind::Word, "sub.u32", format_args!("{depth}, 1"));
    let start = writer.constant(Type::W32, 0);
    let again = writer.label();
    writer.place(again);
    fillings.iter().for_each(|filling| filling.fill(writer, &widen, narrow, [start, last]));
    writer.line(format_args!("bar.sync 0"));
    let left = writer.make(Kind::Word, "sub.u32", format_args!("{depth}, {start}"));
    let left = writer.make(Kind::Word, "min.u32", format_args!("{left}, {SIDE}"));
    let at = own.map(|own| writer.copy(own));
    for count in [UNROLLED, 1] {
        let (more, done) = (writer.label(), writer.label());
        writer.place(more);
        let is_done = writer.make(Kind::Predicate, "setp.lt.u32", format_args!("{left}, {count}"));
        writer.jump_if(is_done, done);
        held.extend(writer, &extend, &tiles, at, count);
        for (at, tile) in at.iter().zip(&tiles) {
            writer.line(format_args!("add.u32 {at}, {at}, {}", count * tile.step));
        }
        writer.line(format_args!("sub.u32 {left}, {left}, {count}"));
        writer.line(format_args!("bra {more}"));
        writer.place(done);
    }
    writer.line(format_args!("add.u32 {start}, {start}, {SIDE}"));
    let goes_on = writer.make(Kind::Predicate, "setp.lt.u32", format_args!("{start}, {depth}"));
    let of_chain = writer.make(Kind::Word, "and.b32", format_args!("{start}, {}", form.chain - 1));
    let is_inside = writer.make(Kind::Predicate, "setp.ne.u32", format_args!("{of_chain}, 0"));
    let is_inside = writer.make(Kind::Predicate, "and.pred", format_args!("{is_inside}, {goes_on}"));
    let inside = writer.label();
    writer.jump_if(is_inside, inside);
    held.end_chains(writer, &add);
    writer.place(inside);
    writer.line(format_args!("bar.sync 0"));
    writer.jump_if(goes_on, again);

    let before = writer.make(Kind::Word, "mul.lo.u32", format_args!("{batch}, {}", counts[0]));
    let results: Vec<Type> = codes.ending.result_types().collect();
    let item: u32 = results.iter().map(|ty| ty.bytes()).sum();
    let own = [(down, firsts[0]), (across, firsts[1])]
        .map(|(line, first)| writer.make(Kind::Word, "add.u32", format_args!("{first}, {line}")));
    for (nth, totals) in (0..).zip(&held.totals) {
        let end = writer.label();
        let [row, column] = [(own[0], nth / lines), (own[1], nth % lines)]
            .map(|(own, nth)| writer.make(Kind::Word, "add.u32", format_args!("{own}, {}", nth * SIDE)));
        for (line, count) in [row, column].into_iter().zip(counts) {
            let is_beyond = writer.make(Kind::Predicate, "setp.ge.u32", format_args!("{line}, {count}"));
            writer.jump_if(is_beyond, end);
        }
        let row = writer.make(Kind::Word, "add.u32", format_args!("{before}, {row}"));
        let number = writer.make(Kind::Word, "mad.lo.u32", format_args!("{row}, {}, {column}", counts[1]));
        let number = writer.make(Kind::Long, "cvt.u64.u32", format_args!("{number}"));
        let mut to = writer.make(Kind::Long, "mad.lo.s64", format_args!("{number}, {item}, {result}"));
        for (&ty, own) in results.iter().zip(ending.write(writer, totals)) {
            store(writer, ty, to, own);
            to = writer.make(Kind::Long, "add.u64", format_args!("{to}, {}", ty.bytes()));
        }
        writer.place(end);
    }
    kernel.finish("product")
}
