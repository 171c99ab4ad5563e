//! Owns the kernel of an element-wise loop: which elements are a thread's, and how it reads and writes them.
//! It does not know what is computed (`body.rs`).

use super::body::KernelBody;
use super::operands::{
    Argument, OperandForm, RegisterOperand, Sizes, elements, load, push_operand, push_sizes, store,
};
use super::writer::{KernelWriter, Kind, Register, stored};
use super::{Kernel, MAX_ELEMENTS, THREADS};
use crate::code::{Code, Type};
use crate::print::Unprintable;

/// Elements that a thread computes where layouts allow.
const AT_ONCE: u32 = 4;

/// Bytes that one instruction reads or writes at most.
const VECTOR_BYTES: u32 = 16;

/// An element-wise loop: each element of the results is that of the code on those of the inputs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapLoop {
    /// The sizes of its dimensions, the outermost first; none if there is one element.
    pub sizes: Vec<u32>,
    /// The inputs of the code, and then its results, which are in memory. A result may be the same elements
    /// as an input of the same strides; otherwise no result shares memory with another operand.
    pub operands: Vec<Argument>,
}

/// What is printed of an element-wise loop besides its code.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MapForm {
    /// How many dimensions it has.
    pub dims: usize,
    /// How each operand is read or written.
    pub operands: Vec<OperandForm>,
    /// Whether a thread computes four elements, neighbours along the innermost dimension.
    pub is_wide: bool,
}

impl MapLoop {
    fn elements(&self) -> u64 {
        elements(&self.sizes)
    }

    /// What is to be printed for it.
    ///
    /// # Errors
    /// If it has not the operands of the code, or too many elements.
    pub fn form(&self, code: &Code) -> Result<MapForm, Unprintable> {
        let types: Vec<Type> = code.inputs().iter().copied().chain(code.result_types()).collect();
        let is_known = |(nth, operand): (usize, &Argument)| match operand {
            Argument::Number(_) => nth < code.inputs().len(),
            Argument::Elements { strides, .. } => strides.len() == self.sizes.len(),
        };
        if types.len() != self.operands.len() || !self.operands.iter().enumerate().all(is_known) {
            return Err(Unprintable::Operands);
        }
        if self.elements() > MAX_ELEMENTS {
            return Err(Unprintable::Elements);
        }
        let dims = self.sizes.len();
        let (inputs, results): (Vec<OperandForm>, Vec<OperandForm>) = {
            let mut forms: Vec<OperandForm> =
                self.operands.iter().zip(&types).map(|(operand, &ty)| operand_form(operand, ty)).collect();
            let results = forms.split_off(code.inputs().len());
            (forms, results)
        };
        let is_wide = self.sizes.last().is_some_and(|&size| size > 0 && size.is_multiple_of(AT_ONCE))
            && results.iter().all(|&form| form == OperandForm::Contiguous);
        let forms = inputs.into_iter().chain(results);
        let any = |form| if is_wide || form == OperandForm::Number { form } else { OperandForm::Strided };
        Ok(MapForm { dims, operands: forms.map(any).collect(), is_wide })
    }

    /// The arguments of its kernel.
    pub fn arguments(&self, form: &MapForm) -> Vec<u64> {
        let width = form.width();
        let mut sizes = self.sizes.clone();
        if let Some(size) = sizes.last_mut() {
            *size /= width;
        }
        let mut arguments = vec![self.elements() / u64::from(width)];
        push_sizes(&mut arguments, sizes);
        for operand in &self.operands {
            let mut operand = operand.clone();
            if let Argument::Elements { strides, .. } = &mut operand
                && let Some(stride) = strides.last_mut()
            {
                *stride *= i64::from(width);
            }
            push_operand(&mut arguments, &operand);
        }
        arguments
    }

    /// How many blocks are launched; none if it has no elements.
    pub fn blocks(&self, form: &MapForm) -> u32 {
        (self.elements() as u32 / form.width()).div_ceil(THREADS)
    }
}

impl MapForm {
    fn width(&self) -> u32 {
        if self.is_wide { AT_ONCE } else { 1 }
    }
}

/// How an operand would be read in a loop of four elements a thread.
fn operand_form(operand: &Argument, ty: Type) -> OperandForm {
    let Argument::Elements { address, strides } = operand else { return OperandForm::Number };
    let Some((&inner, outer)) = strides.split_last() else { return OperandForm::Strided };
    let own = ty.bytes();
    let unit = u64::from((AT_ONCE * own).min(VECTOR_BYTES));
    let is_aligned =
        address.is_multiple_of(unit) && outer.iter().all(|stride| stride.unsigned_abs().is_multiple_of(unit));
    match inner {
        0 => OperandForm::Stretched,
        _ if inner == i64::from(own) && is_aligned => OperandForm::Contiguous,
        _ => OperandForm::Strided,
    }
}

/// The kernel of an element-wise loop.
///
/// ```
/// use zerostride_code::print::ptx::{Argument, MapLoop, map};
/// use zerostride_code::{Binary, Builder, Type};
/// let mut builder = Builder::new();
/// let (x, y) = (builder.input(Type::F32), builder.input(Type::F32));
/// let sum = builder.binary(Binary::Add, x, y);
/// let code = builder.finish(&[sum]);
/// // A matrix of 3 rows and 5 columns, and a row that is stretched.
/// let matrix = |address| Argument::Elements { address, strides: vec![20, 4] };
/// let row = Argument::Elements { address: 0x2000, strides: vec![0, 4] };
/// let loops = MapLoop { sizes: vec![3, 5], operands: vec![matrix(0x1000), row, matrix(0x3000)] };
/// let form = loops.form(&code)?;
/// assert!(map(&code, &form)?.text.contains("add.rn.f32 %f2, %f0, %f1;"));
/// assert_eq!(loops.blocks(&form), 1);
/// # Ok::<(), zerostride_code::print::Unprintable>(())
/// ```
///
/// # Errors
/// If the form has not the operands of the code, or the kernel needs more arguments or shared memory than a
/// GPU has for it.
pub fn map(code: &Code, form: &MapForm) -> Result<Kernel, Unprintable> {
    let body = KernelBody::new(code);
    let (inputs, results) = (code.inputs(), body.result_types());
    if form.operands.len() != inputs.len() + results.len() {
        return Err(Unprintable::Operands);
    }
    let mut kernel = KernelWriter::default();
    let writer = &mut kernel;
    let end = writer.label();
    let block = writer.make(Kind::Word, "mov.u32", format_args!("%ctaid.x"));
    let thread = writer.make(Kind::Word, "mov.u32", format_args!("%tid.x"));
    let number = writer.make(Kind::Word, "mad.lo.u32", format_args!("{block}, {THREADS}, {thread}"));
    let count = writer.argument(Type::W32);
    let is_beyond = writer.make(Kind::Predicate, "setp.le.u32", format_args!("{count}, {number}"));
    writer.jump_if(is_beyond, end);

    let sizes = Sizes::read(writer, form.dims);
    let indices = if form.dims == 0 { Vec::new() } else { sizes.indices(writer, number) };
    let types: Vec<Type> = inputs.iter().copied().chain(results).collect();
    let places: Vec<ElementPlace> = types
        .iter()
        .zip(&form.operands)
        .map(|(&ty, &form)| ElementPlace::read(writer, ty, form, &indices))
        .collect();
    let (from, to) = places.split_at(inputs.len());
    let width = form.width();
    let elements: Vec<Vec<Register>> = from.iter().map(|place| place.load(writer, width)).collect();
    let made: Vec<Vec<Register>> = (0..width as usize)
        .map(|nth| {
            let own: Vec<Register> = elements.iter().map(|elements| elements[nth]).collect();
            body.write(writer, &own)
        })
        .collect();
    for (result, place) in to.iter().enumerate() {
        let own: Vec<Register> = made.iter().map(|made| made[result]).collect();
        place.store(writer, &own);
    }
    writer.place(end);
    kernel.finish("map")
}

/// Where the elements of an operand are that a thread reads or writes.
#[derive(Debug)]
struct ElementPlace {
    ty: Type,
    form: OperandForm,
    first: RegisterOperand,
    /// Bytes from the first element that a thread reads to the first that its neighbour reads.
    stride: Option<Register>,
}

impl ElementPlace {
    fn read(writer: &mut KernelWriter, ty: Type, form: OperandForm, indices: &[Register]) -> ElementPlace {
        let operand = RegisterOperand::read(writer, ty, form == OperandForm::Number, indices.len());
        let stride = match &operand {
            RegisterOperand::Elements { strides, .. } => strides.last().copied(),
            RegisterOperand::Number(_) => None,
        };
        ElementPlace { ty, form, first: operand.at(writer, indices), stride }
    }

    fn address(&self) -> Option<Register> {
        match self.first {
            RegisterOperand::Elements { address, .. } => Some(address),
            RegisterOperand::Number(_) => None,
        }
    }

    /// So many elements.
    fn load(&self, writer: &mut KernelWriter, count: u32) -> Vec<Register> {
        match (self.form, self.address(), self.stride) {
            (OperandForm::Contiguous, Some(address), _) => self.load_vectors(writer, address),
            (OperandForm::Strided, Some(first), Some(stride)) if count > 1 => {
                let step = writer.make(Kind::Long, "shr.s64", format_args!("{stride}, {}", AT_ONCE.ilog2()));
                let mut address = first;
                let mut elements = vec![load(writer, self.ty, address, 0)];
                for _ in 1..count {
                    address = writer.make(Kind::Long, "add.u64", format_args!("{address}, {step}"));
                    elements.push(load(writer, self.ty, address, 0));
                }
                elements
            }
            _ => vec![self.first.load(writer, self.ty); count as usize],
        }
    }

    fn load_vectors(&self, writer: &mut KernelWriter, address: Register) -> Vec<Register> {
        let own = self.ty.bytes();
        let length = AT_ONCE.min(VECTOR_BYTES / own);
        let mut elements = Vec::new();
        for nth in (0..AT_ONCE).step_by(length as usize) {
            let vector: Vec<Register> = (0..length).map(|_| writer.register(Kind::of(self.ty))).collect();
            let name = format!("ld.global.v{length}.{}", stored(self.ty));
            writer.line(format_args!("{name} {}, [{address}+{}]", listed(&vector), nth * own));
            elements.extend(vector);
        }
        elements
    }

    fn store(&self, writer: &mut KernelWriter, elements: &[Register]) {
        let Some(address) = self.address() else { return };
        if let &[element] = elements {
            return store(writer, self.ty, address, element);
        }
        let own = self.ty.bytes();
        let length = AT_ONCE.min(VECTOR_BYTES / own);
        for (nth, vector) in elements.chunks(length as usize).enumerate() {
            let name = format!("st.global.v{length}.{}", stored(self.ty));
            let offset = nth as u32 * length * own;
            writer.line(format_args!("{name} [{address}+{offset}], {}", listed(vector)));
        }
    }
}

fn listed(vector: &[Register]) -> String {
    let names: Vec<String> = vector.iter().map(Register::to_string).collect();
    format!("{{{}}}", names.join(", "))
}
