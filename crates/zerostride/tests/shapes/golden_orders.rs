//! The order in which the dimensions of results lie, against `orders.json`.

use serde_json::Value;
use zerostride::{DType, Expr, Result, Slice, Tensor};

use crate::corpus::{Differences, json, list};

fn operand(spec: &Value) -> Tensor {
    let memory = Tensor::ones(&list::<usize>(&spec["memory"])).unwrap();
    let tensor = memory.permute(&list::<isize>(&spec["permute"])).unwrap();
    match spec["every_other"].as_i64() {
        Some(dim) => tensor.slice(dim as isize, Slice::from(..).step_by(2)).unwrap(),
        None => tensor,
    }
}

/// The formula's value as one expression, and where it is one operation, at once, too.
fn values(formula: &str, operands: &[Tensor]) -> Result<Vec<Tensor>> {
    let [a, b, c] = [0, 1, 2].map(|place| operands.get(place).unwrap_or(&operands[0]));
    let [x, y, z] = [a, b, c].map(Expr::from);
    Ok(match formula {
        "neg(a)" => vec![(-&x).eval()?, a.neg()?],
        "a.to(f64)" => vec![x.to_dtype(DType::F64).eval()?, a.to_dtype(DType::F64)?],
        "a + b" => vec![(&x + &y).eval()?, a.add(b)?],
        "a > b" => vec![x.gt(&y).eval()?, a.gt(b)?],
        "where(a > b, a, c)" => vec![x.where_(x.gt(&y), &z).eval()?, a.where_(&a.gt(b)?, c)?],
        "(a + b) * c" => vec![((&x + &y) * &z).eval()?, a.add(b)?.mul(c)?],
        "(a - b).t0() / c.t0()" => {
            vec![((&x - &y).transpose(0, -1) / z.transpose(0, -1)).eval()?]
        }
        "a.sort(0)" => vec![a.sort(0, false)?.1, a.argsort(0, false)?],
        "a.sort(-1)" => vec![a.sort(-1, false)?.0],
        "a.topk(1, 0)" => vec![a.topk(1, 0, true)?.0],
        "a.tril()" => vec![a.tril(0)?],
        "a.masked_fill(b > 2, 0)" => vec![x.masked_fill(y.gt(2), 0).eval()?, a.masked_fill(&b.gt(2)?, 0)?],
        "a.masked_fill(b > 2, 0) + a" => vec![(x.masked_fill(y.gt(2), 0) + &x).eval()?],
        other => panic!("no such formula: {other}"),
    })
}

#[test]
fn results_lie_as_pytorchs_do() {
    let file = json("orders.json");
    let mut differences = Differences::default();
    for case in file["cases"].as_array().unwrap() {
        let formula = case["formula"].as_str().unwrap();
        let operands: Vec<Tensor> = case["operands"].as_array().unwrap().iter().map(operand).collect();
        let (shape, strides) = (list::<usize>(&case["shape"]), list::<isize>(&case["strides"]));
        for found in values(formula, &operands).unwrap() {
            // Where a size is 1, the stride leads nowhere.
            let is_same =
                |(&size, (&found, &wanted)): (&usize, (&isize, &isize))| size == 1 || found == wanted;
            let right =
                found.shape() == shape && shape.iter().zip(found.strides().iter().zip(&strides)).all(is_same);
            differences.check(right, || format!("{case}\n    {:?} {:?}", found.shape(), found.strides()));
        }
    }
    differences.finish(1450);
}
