//! Owns plans as text: what each pass computes, and the loop that computes it. It does not know who runs it.

use std::fmt;

use zerostride_kernels::lanes;
use zerostride_ops::Reduction;

use super::program::{Instruction, Program, Work};
use super::{Group, Plan};

/// The loop of a step: its sizes, and of each operand its dtype and its strides along them in elements, of
/// which 0 stretches.
struct Loop<'a> {
    kept: &'a [usize],
    /// The dimensions that are reduced, and how.
    reduced: Option<(&'a [usize], Reduction)>,
    program: &'a Program,
}

impl<'a> Loop<'a> {
    /// `None` for products, whose loops are the kernels'.
    fn of(work: &'a Work) -> Option<Loop<'a>> {
        match work {
            Work::Map { shape, program, .. } => Some(Loop { kept: shape, reduced: None, program }),
            Work::Reduce { kept, reduced, program, op, .. } => {
                Some(Loop { kept, reduced: Some((reduced, *op)), program })
            }
            Work::Matmul { .. } => None,
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "loop {}", sizes(self.kept))?;
        if let Some((reduced, _)) = self.reduced {
            write!(f, " over {}", sizes(reduced))?;
        }
        for (index, load) in self.program.loads.iter().enumerate() {
            let (kept, reduced) = load.strides.split_at(self.kept.len());
            let between = if index == 0 { ": " } else { ", " };
            let along: Vec<String> =
                [kept, reduced].iter().filter(|own| !own.is_empty()).map(|own| joined(own, ", ")).collect();
            write!(f, "{between}{} ({})", load.dtype, along.join(" | "))?;
        }
        let Some((reduced, op)) = self.reduced else { return Ok(()) };
        let dtype = self.program.dtypes[self.program.result];
        match lanes(reduced.iter().product()) {
            _ if op.is_in_any_order(dtype) => write!(f, "; in any order"),
            1 => write!(f, "; in order"),
            lanes => write!(f, "; in a tree of {lanes} lanes"),
        }
    }
}

/// The loop is one element where there is no dimension.
fn sizes(sizes: &[usize]) -> String {
    if sizes.is_empty() { "1".to_owned() } else { joined(sizes, " x ") }
}

fn joined<T: ToString>(items: &[T], between: &str) -> String {
    items.iter().map(T::to_string).collect::<Vec<_>>().join(between)
}

impl fmt::Display for Program {
    /// One line for each register.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (register, (instruction, dtype)) in self.instructions.iter().zip(&self.dtypes).enumerate() {
            write!(f, "        %{register} = {dtype} ")?;
            match instruction {
                Instruction::Load(load) => writeln!(f, "operand {load}")?,
                Instruction::Splat(number) => writeln!(f, "{number}")?,
                Instruction::Cast(from) => writeln!(f, "of %{from}")?,
                Instruction::Map { op, operands, .. } => {
                    writeln!(f, "{}(%{})", op.name(), joined(operands, ", %"))?;
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Plan {
    /// For each pass what it computes, how often, and its loop; then the sums. The alternate form has the
    /// programs of loops, too.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, step) in self.passes.steps.iter().enumerate() {
            let buffer = &self.passes.buffers[step.output];
            let kind = match &step.work {
                Work::Map { .. } => "map",
                Work::Reduce { .. } => "reduce",
                Work::Matmul { .. } => "matmul",
            };
            let hoisted = if step.hoisted { "  hoisted: computed once, then stretched" } else { "" };
            writeln!(
                f,
                "pass {}: {kind:<6} {} {}  {}{hoisted}",
                index + 1,
                buffer.dtype,
                buffer.shape,
                step.text
            )?;
            let counts: Vec<String> =
                step.operations().map(|(op, count)| format!("{} x{count}", op.name())).collect();
            if !counts.is_empty() {
                writeln!(f, "        {}", counts.join(", "))?;
            }
            if let Some(shown) = Loop::of(&step.work) {
                write!(f, "        ")?;
                shown.write(f)?;
                writeln!(f)?;
                if f.alternate() {
                    shown.program.fmt(f)?;
                }
            }
        }
        for Group { steps, rows, block, .. } in self.passes.groups.iter() {
            let (first, last) = (steps.start + 1, steps.end);
            writeln!(f, "passes {first} to {last} run together, {block} of {rows} rows at a time")?;
        }
        let [read, written] = [self.bytes_read(), self.bytes_written()];
        let results = match self.passes.results.len() {
            1 => "result".to_owned(),
            count => format!("{count} results"),
        };
        write!(f, "reads {read} bytes, writes {written} bytes; {results} {} bytes", self.output_bytes())?;
        match self.scratch_bytes() {
            0 => Ok(()),
            scratch => write!(f, ", scratch at most {scratch} bytes"),
        }
    }
}
