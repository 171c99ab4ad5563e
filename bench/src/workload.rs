//! Owns the workloads: what is computed, at which sizes, from operands of which dtype. It does not know how a
//! library computes it.

use zerostride_bench::{Kind, Operand, Task};

/// The purpose of a workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    /// The table of targets compares these.
    Main,
    /// Longer chains of operations over large arrays.
    Chain,
    /// The same operation from a thousand to a hundred million elements.
    Scaling,
    /// Main workloads in other dtypes.
    Dtype,
}

impl Group {
    /// Its name in the record and in filters.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Group::Main => "main",
            Group::Chain => "chain",
            Group::Scaling => "scaling",
            Group::Dtype => "dtype",
        }
    }
}

/// One workload at one size and dtype.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    /// The workload's name, for filters and for the record.
    pub(crate) workload: &'static str,
    /// What is computed, for people.
    pub(crate) title: &'static str,
    pub(crate) group: Group,
    /// `L2`, `L3` and `RAM` are the level of memory that operands and result fit into together; `call` is a
    /// tiny operation.
    pub(crate) size: String,
    /// Dtype of the operands that the variants change.
    pub(crate) kind: Kind,
    /// Operations of one evaluation, in elements.
    pub(crate) operations: f64,
    pub(crate) task: Task,
}

struct Row {
    name: &'static str,
    title: &'static str,
    group: Group,
    formula: &'static str,
    /// Operands and result: `name[dims]`, `name[dims]:dtype`.
    operands: &'static str,
    result: &'static str,
    /// The loop's dimensions, and the operations at each point.
    operations: (&'static str, f64),
    sizes: &'static [(&'static str, &'static str)],
    /// Whether there are variants in other dtypes.
    dtypes: bool,
}

const fn main(
    name: &'static str,
    title: &'static str,
    formula: &'static str,
    operands: &'static str,
    result: &'static str,
    operations: (&'static str, f64),
    sizes: &'static [(&'static str, &'static str)],
) -> Row {
    Row { name, title, group: Group::Main, formula, operands, result, operations, sizes, dtypes: false }
}

const fn dtypes(row: Row) -> Row {
    Row { dtypes: true, ..row }
}

const fn chain(name: &'static str, title: &'static str, length: f64) -> Row {
    let sizes = &[("RAM", "n=4096 m=4096")];
    let row = main(name, title, name, "x[n,m]", "[n,m]", ("[n,m]", length), sizes);
    Row { group: Group::Chain, ..row }
}

/// Three sizes of a matrix and its row or column.
const MATRIX: &[(&str, &str)] = &[("L2", "n=128 m=512"), ("L3", "n=1024 m=1024"), ("RAM", "n=4096 m=4096")];
/// Many rows of 256.
const ROWS: &[(&str, &str)] = &[("L2", "n=256"), ("L3", "n=4096"), ("RAM", "n=65536")];
/// Points of all pairs.
const PAIRS: &[(&str, &str)] = &[("L2", "n=256"), ("L3", "n=1024"), ("RAM", "n=2048")];

#[rustfmt::skip]
const ROWS_OF_THE_TABLE: &[Row] = &[
    dtypes(main("add", "x + y", "add", "x[n,m] y[n,m]", "[n,m]", ("[n,m]", 1.0), MATRIX)),
    main("add_scalar", "x + 2.5", "add_scalar", "x[n,m]", "[n,m]", ("[n,m]", 1.0), MATRIX),
    dtypes(main("add_row", "x + row", "add", "x[n,m] row[m]", "[n,m]", ("[n,m]", 1.0), MATRIX)),
    main("add_col", "x + col", "add", "x[n,m] col[n,1]", "[n,m]", ("[n,m]", 1.0), MATRIX),
    dtypes(main("outer_sum", "col + row", "add", "col[n,1] row[m]", "[n,m]", ("[n,m]", 1.0), MATRIX)),
    main("middle", "(a,1,c,1) + (b,1,d)", "add", "x[a,1,c,1] y[b,1,d]", "[a,b,c,d]", ("[a,b,c,d]", 1.0),
        &[("L2", "a=8 b=4 c=64 d=64"), ("L3", "a=16 b=16 c=64 d=64"), ("RAM", "a=64 b=32 c=128 d=64")]),
    main("channels", "(b,64,h,w) + (64,1,1)", "add", "x[b,64,s,s] bias[64,1,1]", "[b,64,s,s]", ("[b,64,s,s]", 1.0),
        &[("L2", "b=1 s=32"), ("L3", "b=4 s=56"), ("RAM", "b=32 s=56")]),
    dtypes(main("transposed", "x + y.T", "transposed", "x[n,n] y[n,n]", "[n,n]", ("[n,n]", 1.0),
        &[("L2", "n=256"), ("L3", "n=1024"), ("RAM", "n=4096")])),
    main("normalise", "(x - m) / s * g + b", "normalise", "x[n,256] m[n,1] s[n,1]+ g[256] b[256]", "[n,256]", ("[n,256]", 4.0), ROWS),
    main("gelu", "gelu, by its tanh formula", "gelu", "x[n,256]", "[n,256]", ("[n,256]", 9.0), ROWS),
    main("image", "(u8 image / 255 - m) / s", "image", "x[b,h,h,3]:u8 m[3] s[3]+", "[b,h,h,3]", ("[b,h,h,3]", 3.0),
        &[("L2", "b=2 h=128"), ("L3", "b=8 h=224"), ("RAM", "b=64 h=224")]),
    dtypes(main("where", "where((n,1), x, row)", "where", "c[n,1]:bool x[n,m] row[m]", "[n,m]", ("[n,m]", 1.0), MATRIX)),
    main("pairs_16", "((n,1,16) - (1,n,16))^2 sum", "squared_distance", "a[n,1,16] b[1,n,16]", "[n,n]", ("[n,n,16]", 3.0), PAIRS),
    main("pairs_3", "((n,1,3) - (1,n,3))^2 sum", "squared_distance", "a[n,1,3] b[1,n,3]", "[n,n]", ("[n,n,3]", 3.0),
        &[("L2", "n=256"), ("L3", "n=1024"), ("RAM", "n=4096")]),
    main("outer_exp", "exp(col) * exp(row)", "exp_outer", "col[n,1] row[m]", "[n,m]", ("[n,m]", 1.0), MATRIX),
    main("in_place", "x += row", "add_in_place", "x[n,m] row[m]", "[n,m]", ("[n,m]", 1.0), MATRIX),
    main("sum_outer", "sum(x, 0)", "sum_outer", "x[n,m]", "[m]", ("[n,m]", 1.0), MATRIX),
    main("sum_inner", "sum(x, 1)", "sum_inner", "x[n,m]", "[n]", ("[n,m]", 1.0), MATRIX),
    main("cached_row", "(256,1024) + row", "add", "x[256,1024] row[1024]", "[256,1024]", ("[256,1024]", 1.0), &[("L2", "")]),
    main("tiny", "(1,3) + (3,1)", "add", "x[1,3] y[3,1]", "[3,3]", ("[3,3]", 1.0), &[("call", "")]),
    main("gelu_call", "gelu, the library's function", "gelu_call", "x[n,256]", "[n,256]", ("[n,256]", 9.0), ROWS),
    main("layer_norm", "layer norm", "layer_norm", "x[n,m] g[m] b[m]", "[n,m]", ("[n,m]", 7.0),
        &[("L2", "n=64 m=1024"), ("L3", "n=1024 m=1024"), ("RAM", "n=4096 m=4096")]),
    main("softmax", "softmax", "softmax", "x[n,m]", "[n,m]", ("[n,m]", 5.0),
        &[("L2", "n=64 m=1024"), ("L3", "n=1024 m=1024"), ("RAM", "n=4096 m=4096")]),
    main("rbf", "sum(exp(-|a - b|^2))", "rbf", "a[n,1,16]: b[1,n,16]:", "[n]", ("[n,n,16]", 3.125), PAIRS),
    main("batched_matmul", "(b,n,n) @ (1,n,n)", "matmul", "a[b,n,n] w[1,n,n]", "[b,n,n]", ("[b,n,n,n]", 2.0),
        &[("L2", "b=4 n=128"), ("L3", "b=16 n=256"), ("RAM", "b=32 n=512")]),
    // Other peers' `matmul` takes batches of matrices only, so vectors have their own formula.
    main("matvec", "(n,k) @ (k)", "product", "a[n,k] x[k]", "[n]", ("[n,k]", 2.0),
        &[("L2", "n=256 k=1024"), ("L3", "n=1024 k=1024"), ("RAM", "n=4096 k=4096")]),
    main("dot", "(1,k) @ (k)", "product", "a[1,k] x[k]", "[1]", ("[k]", 2.0),
        &[("L2", "k=100000"), ("L3", "k=1000000"), ("RAM", "k=10000000")]),
    chain("chain_1", "a chain of 1", 1.0),
    chain("chain_4", "a chain of 4", 4.0),
    chain("chain_8", "a chain of 8", 8.0),
    chain("chain_12", "a chain of 12", 12.0),
    Row { group: Group::Scaling, ..main("scaling", "x + y", "add", "x[n] y[n]", "[n]", ("[n]", 1.0),
        &[("1e3", "n=1000"), ("1e4", "n=10000"), ("1e5", "n=100000"), ("1e6", "n=1000000"), ("1e7", "n=10000000"), ("1e8", "n=100000000")]) },
];

/// Every workload at every size, main ones first.
pub(crate) fn cells() -> Vec<Cell> {
    let mut cells = Vec::new();
    for row in ROWS_OF_THE_TABLE {
        cells.extend(row.sizes.iter().map(|(size, dims)| cell(row, row.group, size, dims, Kind::F32)));
    }
    for row in ROWS_OF_THE_TABLE.iter().filter(|row| row.dtypes) {
        for kind in [Kind::F64, Kind::Bf16, Kind::I32, Kind::U8] {
            let sizes = row.sizes.iter().filter(|(size, _)| *size != "L3");
            cells.extend(sizes.map(|(size, dims)| cell(row, Group::Dtype, size, dims, kind)));
        }
    }
    cells
}

fn cell(row: &Row, group: Group, size: &str, dims: &str, kind: Kind) -> Cell {
    let operands: Vec<Operand> =
        row.operands.split_whitespace().map(|text| operand(text, dims, kind)).collect();
    let dtype = if kind == Kind::F32 || operands.iter().any(|operand| operand.dtype == kind) {
        kind
    } else {
        Kind::F32
    };
    let points: usize = shape(row.operations.0, dims).iter().product();
    Cell {
        workload: row.name,
        title: row.title,
        group,
        size: size.into(),
        kind,
        operations: points as f64 * row.operations.1,
        task: Task { formula: row.formula.into(), operands, shape: shape(row.result, dims), dtype },
    }
}

/// `name[dims]`, then `:dtype` if it is fixed, `:` alone for elements near 0, `+` for elements that are valid
/// divisors.
fn operand(text: &str, dims: &str, kind: Kind) -> Operand {
    let (name, rest) = text.split_once('[').unwrap_or((text, "]"));
    let (sizes, suffix) = rest.split_once(']').unwrap_or((rest, ""));
    let dtype = match suffix {
        ":bool" => Kind::Bool,
        ":u8" => Kind::U8,
        _ => kind,
    };
    let (low, high) = match (suffix, dtype) {
        (":u8", _) => (0.0, 256.0),
        // Two of them are added without overflow.
        (_, Kind::U8) => (0.0, 100.0),
        (_, Kind::I32) => (-1000.0, 1000.0),
        (_, Kind::Bool) => (0.0, 1.0),
        ("+", _) => (0.5, 2.0),
        (":", _) => (0.0, 0.5),
        _ => (-1.0, 1.0),
    };
    Operand { name: name.into(), shape: shape(sizes, dims), dtype, low, high }
}

/// The sizes of `[n,256]` for dims such as `n=128 m=512`.
fn shape(text: &str, dims: &str) -> Vec<usize> {
    let sizes = |name: &str| {
        let named = dims.split(' ').find_map(|dim| dim.strip_prefix(name)?.strip_prefix('='));
        named.unwrap_or(name).parse().unwrap_or_else(|_| panic!("the table gives no size for {name}"))
    };
    text.trim_matches(['[', ']']).split(',').map(sizes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_stands_for_where_its_bytes_fit() {
        // Operands and result of `rbf` are small at any size; the array of pairs, which need not exist, is
        // what grows.
        for cell in cells().into_iter().filter(|cell| cell.workload != "rbf") {
            let traffic = cell.task.traffic() as f64 / f64::from(1 << 20);
            // Variants of 16 bits and less have the shapes of f32.
            let narrow = cell.kind.bytes() < 4;
            let fits = match cell.size.as_str() {
                "L2" => traffic <= 2.1,
                "L3" => (2.0..32.0).contains(&traffic),
                "RAM" => traffic > 16.0 || narrow,
                _ => true,
            };
            assert!(fits, "{} {}: {traffic} MiB", cell.workload, cell.size);
        }
    }

    #[test]
    fn five_workloads_have_variants_in_four_dtypes() {
        let variants = cells().into_iter().filter(|cell| cell.group == Group::Dtype);
        assert_eq!(variants.filter(|cell| cell.size == "L2").count(), 20);
    }
}
