//! Times rows that were printed as machine code, in the L2 cache, in the L3 cache and from memory, and the
//! printing itself.

#[cfg(has_code)]
mod printed {
    use std::hint::black_box;

    use criterion::{BenchmarkId, Criterion, Throughput};
    use zerostride_code::print::Unprintable;
    #[cfg(target_arch = "aarch64")]
    use zerostride_code::print::aarch64;
    #[cfg(target_arch = "x86_64")]
    use zerostride_code::print::x86_64::{self, Set};
    use zerostride_code::{Binary, Builder, Code, Compare, Row, Type, Value};
    use zerostride_kernels::{Isa, Native};

    fn number(code: &mut Builder, x: f32) -> Value {
        code.constant(Type::F32, x.to_bits().into())
    }

    fn folded(code: &mut Builder, binary: Binary, values: &[Value]) -> Value {
        values[1..].iter().fold(values[0], |all, &value| code.binary(binary, all, value))
    }

    /// The formulas of three operands that compiled loops are compared with.
    fn formulas() -> Vec<(&'static str, Code)> {
        let names = ["x*y+z", "15 operations", "max, min, quotient, where", "polynomial of 12 steps"];
        names.into_iter().map(|name| (name, formula(name))).collect()
    }

    fn formula(name: &str) -> Code {
        let code = &mut Builder::new();
        let own @ [x, y, z] = std::array::from_fn(|_| code.input(Type::F32));
        let result = match name {
            "x*y+z" => {
                let product = code.binary(Binary::Mul, x, y);
                code.binary(Binary::Add, product, z)
            }
            "15 operations" => {
                let differences = [(x, y), (y, z), (x, z)].map(|(a, b)| code.binary(Binary::Sub, a, b));
                let [near, own] = [differences, own].map(|of| of.map(|a| code.binary(Binary::Mul, a, a)));
                let (near, own) = (folded(code, Binary::Add, &near), folded(code, Binary::Add, &own));
                let one = number(code, 1.0);
                let below = code.binary(Binary::Add, own, one);
                code.binary(Binary::Div, near, below)
            }
            "max, min, quotient, where" => {
                let (most, least) = (folded(code, Binary::Max, &own), folded(code, Binary::Min, &own));
                let (range, zero) = (code.binary(Binary::Sub, most, least), number(code, 0.0));
                let (mask, quotient) =
                    (code.compare(Compare::Lt, zero, most), code.binary(Binary::Div, range, most));
                code.select(mask, quotient, zero)
            }
            _ => {
                let half = number(code, 0.5);
                let (term, first) = (code.binary(Binary::Mul, y, half), number(code, 0.1));
                (0..12).fold(first, |sum, _| {
                    let product = code.binary(Binary::Mul, sum, x);
                    code.binary(Binary::Add, product, term)
                })
            }
        };
        std::mem::take(code).finish(&[result])
    }

    type Print = fn(&Row) -> Result<Vec<u8>, Unprintable>;

    /// The printers for the sets of instructions that the processor has.
    fn printers() -> impl Iterator<Item = (Isa, Print)> {
        #[cfg(target_arch = "x86_64")]
        let all: [(Isa, Print); 2] = [
            (Isa::Avx512, |row| x86_64::print(row, Set::Avx512)),
            (Isa::Avx2, |row| x86_64::print(row, Set::Avx2)),
        ];
        #[cfg(target_arch = "aarch64")]
        let all: [(Isa, Print); 1] = [(Isa::Neon, aarch64::print)];
        all.into_iter().filter(|(isa, _)| isa.is_supported())
    }

    pub(crate) fn rows(criterion: &mut Criterion) {
        for (name, code) in formulas() {
            let mut group = criterion.benchmark_group(format!("printed: {name}"));
            for count in [1usize << 16, 1 << 18, 1 << 22] {
                let operand = |seed: usize| -> Vec<f32> {
                    (0..count).map(|i| (i * 2_654_435_761 + seed) as u32 as f32 / 4e9 + 0.1).collect()
                };
                let (x, y, z) = (operand(1), operand(77_777), operand(987_654_321));
                let mut result = vec![0f32; count];
                group.throughput(Throughput::Elements(count as u64));
                for (isa, print) in printers() {
                    let bytes = print(&Row::contiguous(code.clone())).expect("a row that can be printed");
                    let native = Native::new(&bytes).expect("memory for code");
                    let inputs = [&x, &y, &z].map(|x| x.as_ptr().cast_mut().cast::<u8>());
                    let mut arguments = [std::ptr::null_mut(); 8];
                    arguments[..3].copy_from_slice(&inputs);
                    arguments[3] = result.as_mut_ptr().cast();
                    group.bench_function(BenchmarkId::new(isa.name(), count), |bencher| {
                        // SAFETY: the processor has the set, three inputs and a result have the elements.
                        bencher.iter(|| unsafe { native.call(black_box(arguments.as_mut_ptr()), count, 1) });
                    });
                }
            }
        }
    }

    /// From a code of 50 instructions to a function.
    pub(crate) fn printing(criterion: &mut Criterion) {
        let mut code = Builder::new();
        let (x, y) = (code.input(Type::F32), code.input(Type::F32));
        let mut last = [x, y];
        for step in 0..12 {
            let [a, b] = last;
            let factor = number(&mut code, step as f32 + 0.5);
            let product = code.binary(Binary::Mul, a, factor);
            let sum = code.binary(Binary::Add, product, b);
            let root = code.binary(Binary::Div, sum, x);
            last = [b, code.mul_add(root, a, y)];
        }
        let result = code.binary(Binary::Sub, last[0], last[1]);
        let row = Row::contiguous(code.finish(&[result]));
        for (isa, print) in printers() {
            criterion.bench_function(&format!("print 50 instructions: {isa}"), |bencher| {
                bencher.iter(|| Native::new(&print(black_box(&row)).expect("a row that can be printed")));
            });
        }
    }
}

#[cfg(has_code)]
criterion::criterion_group!(benches, printed::rows, printed::printing);
#[cfg(has_code)]
criterion::criterion_main!(benches);

#[cfg(not(has_code))]
fn main() {}
