//! Owns the test of calls with two mistakes, shapes and dtypes: the one that PyTorch names is named.

use zerostride::{Argument, Arguments, DType, Error, Op, Tensor, call, call_into};

use crate::corpus;

/// A call, as `spec/golden/mistakes.py` makes it.
fn refusal(name: &str, in_place: bool, dtypes: [DType; 2]) -> Option<Error> {
    let shapes: [&[usize]; 2] = if in_place { [&[3], &[2, 3]] } else { [&[2, 3], &[4]] };
    let [x, y] = [0, 1].map(|at| Tensor::full(shapes[at], 1, dtypes[at]).unwrap());
    let operands = match name {
        "addcmul" | "addcdiv" | "lerp" => vec![&x, &y, &y],
        "where" => vec![&y, &x, &x],
        _ => vec![&x, &y],
    };
    let mut positional: Vec<Argument> =
        operands.into_iter().map(|tensor| Argument::Expr(tensor.into())).collect();
    if name == "masked_fill" {
        positional.push(Argument::Number(1.into()));
    }
    let (op, arguments) = (Op::from_name(name).unwrap(), Arguments { positional, named: Vec::new() });
    if in_place { call_into(op, arguments, &x).err() } else { call(op, arguments).unwrap().eval().err() }
}

#[test]
fn of_two_mistakes_the_one_is_named_that_pytorch_names() {
    let json = corpus::json("mistakes.json");
    let names = json["provenance"]["dtypes"].as_array().unwrap();
    let dtypes: Vec<DType> = names.iter().map(|name| name.as_str().unwrap().parse().unwrap()).collect();
    let pairs = || dtypes.iter().flat_map(|x| dtypes.iter().map(|y| [*x, *y]));
    let (mut asked, mut wrong) = (0, Vec::new());
    for answers in json["calls"].as_array().unwrap() {
        let (name, form) = (answers["fn"].as_str().unwrap(), answers["form"].as_str().unwrap());
        for (dtypes, answer) in pairs().zip(answers["answers"].as_array().unwrap()) {
            asked += 1;
            let expected = &json["texts"][answer.as_u64().unwrap() as usize];
            let found = refusal(name, form == "in place", dtypes).map(|error| error.root().clone());
            let fits = found.as_ref().is_some_and(|found| {
                expected["text"] == found.to_string()
                    && expected["class"] == corpus::class_name(found.class())
            });
            if !fits {
                wrong.push(format!("{name} {form} of {dtypes:?}: {found:?}, not {expected}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(asked, json["calls"].as_array().unwrap().len() * dtypes.len() * dtypes.len());
}
