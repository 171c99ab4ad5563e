//! Every view call of `errors.json` through `Tensor` and through `Expr`, and the functions on lists.

use serde_json::Value;
use zerostride::{DType, Error, Expr, Tensor, broadcast_tensors, cat, stack};

use crate::corpus::{Differences, json, list, refusal, values};
use crate::windows::window;

/// 0, 1, 2, ... under a shape, and strides if the case has some.
fn subject(shape: &[usize], strides: Option<Vec<usize>>) -> Tensor {
    let reach = match &strides {
        Some(strides) => 1 + shape.iter().zip(strides).map(|(n, s)| (n - 1) * s).sum::<usize>(),
        None => shape.iter().product(),
    };
    let storage = Tensor::arange(0, reach as i64, 1).unwrap().to_dtype(DType::F32).unwrap();
    match strides {
        Some(strides) => window(&storage, shape, &strides, 0),
        None => storage.view(&shape.iter().map(|&size| size as isize).collect::<Vec<_>>()).unwrap(),
    }
}

/// The arguments of a call: integers and lists of such.
struct Arguments<'a>(&'a [Value]);

impl Arguments<'_> {
    fn int(&self, at: usize, default: isize) -> isize {
        self.0.get(at).map_or(default, |value| value.as_i64().unwrap() as isize)
    }

    /// Argument `at` if it is a list, else all of them from there on.
    fn ints(&self, at: usize) -> Vec<isize> {
        match self.0.get(at) {
            Some(Value::Array(list)) => list.iter().map(|value| value.as_i64().unwrap() as isize).collect(),
            _ => self.0[at..].iter().map(|value| value.as_i64().unwrap() as isize).collect(),
        }
    }

    /// One integer or a list of such.
    fn one_or_more(&self, at: usize) -> Vec<isize> {
        match &self.0[at] {
            Value::Array(_) => self.ints(at),
            number => vec![number.as_i64().unwrap() as isize],
        }
    }

    /// A tensor of the shape that is the argument.
    fn other(&self) -> Tensor {
        Tensor::zeros(&list::<usize>(&self.0[0]["shape"])).unwrap()
    }

    /// The list as sizes; `None` where a size is negative.
    fn sizes(&self) -> Option<Vec<usize>> {
        self.ints(0).iter().map(|&size| usize::try_from(size).ok()).collect()
    }
}

/// The call on a tensor; `None` where this interface cannot say it.
fn on_tensor(name: &str, x: &Tensor, arguments: &Arguments<'_>) -> Option<Result<Tensor, Error>> {
    let int = |at, default| arguments.int(at, default);
    Some(match name {
        "expand" => x.expand(&arguments.ints(0)),
        "broadcast_to" => match arguments.sizes() {
            Some(sizes) => x.broadcast_to(&sizes),
            None => x.expand(&arguments.ints(0)),
        },
        "expand_as" => x.expand_as(&arguments.other()),
        "view_as" => x.view_as(&arguments.other()),
        "reshape_as" => x.reshape_as(&arguments.other()),
        "view" => x.view(&arguments.ints(0)),
        "reshape" => x.reshape(&arguments.ints(0)),
        "squeeze" if arguments.0.is_empty() => x.squeeze(),
        "squeeze" => x.squeeze_dims(&arguments.one_or_more(0)),
        "unsqueeze" => x.unsqueeze(int(0, 0)),
        "permute" => x.permute(&arguments.ints(0)),
        "transpose" | "swapaxes" => x.transpose(int(0, 0), int(1, 0)),
        "t" => x.t(),
        "movedim" => x.movedim(&arguments.one_or_more(0), &arguments.one_or_more(1)),
        "narrow" => x.narrow(int(0, 0), int(1, 0), int(2, 0)),
        "select" => x.select(int(0, 0), int(1, 0)),
        "diagonal" => x.diagonal(int(0, 0), int(1, 0), int(2, 1)),
        "unfold" => x.unfold(int(0, 0), int(1, 0), int(2, 0)),
        "flatten" => x.flatten(int(0, 0), int(1, -1)),
        "unflatten" => x.unflatten(int(0, 0), &arguments.ints(1)),
        "repeat" => x.repeat(&arguments.sizes()?),
        "tile" => x.tile(&arguments.sizes()?),
        "sum_to_size" => x.sum_to_size(&arguments.sizes()?),
        "contiguous" => x.contiguous(),
        "clone" => x.clone_elements(),
        _ => return None,
    })
}

/// The call on an expression, where that has it.
fn on_expr(name: &str, x: &Expr, arguments: &Arguments<'_>) -> Option<Expr> {
    let int = |at, default| arguments.int(at, default);
    Some(match name {
        "expand" => x.expand(&arguments.ints(0)),
        "broadcast_to" => x.broadcast_to(&arguments.sizes()?),
        "reshape" => x.reshape(&arguments.ints(0)),
        "squeeze" if arguments.0.is_empty() => x.squeeze(),
        "squeeze" => x.squeeze_dims(&arguments.one_or_more(0)),
        "unsqueeze" => x.unsqueeze(int(0, 0)),
        "permute" => x.permute(&arguments.ints(0)),
        "transpose" | "swapaxes" => x.transpose(int(0, 0), int(1, 0)),
        "t" => x.t(),
        "movedim" => x.movedim(&arguments.one_or_more(0), &arguments.one_or_more(1)),
        "narrow" => x.narrow(int(0, 0), int(1, 0), int(2, 0)),
        "select" => x.select(int(0, 0), int(1, 0)),
        "diagonal" => x.diagonal(int(0, 0), int(1, 0), int(2, 1)),
        "unfold" => x.unfold(int(0, 0), int(1, 0), int(2, 0)),
        "flatten" => x.flatten(int(0, 0), int(1, -1)),
        "unflatten" => x.unflatten(int(0, 0), &arguments.ints(1)),
        "sum_to_size" => x.sum_to_size(&arguments.sizes()?),
        _ => return None,
    })
}

/// What differs between a result and the corpus' description of it.
fn difference(found: &Tensor, wanted: &Value, sources: &[Tensor], strides: bool) -> Option<String> {
    if found.shape() != list::<usize>(&wanted["shape"]) {
        return Some(format!("shape {:?}", found.shape()));
    }
    if strides && found.strides() != list::<isize>(&wanted["strides"]) {
        return Some(format!("strides {:?}", found.strides()));
    }
    let shares = sources.iter().any(|source| source.shares_storage(found));
    if wanted["view"] == true && strides {
        let offset = wanted["offset"].as_u64().unwrap() as usize;
        return (!shares || found.storage_offset() != offset)
            .then(|| format!("shares {shares}, offset {}", found.storage_offset()));
    }
    let wanted =
        wanted.get("values").map(|values| values.as_array().unwrap().iter().map(|v| v.as_f64().unwrap()));
    wanted.is_some_and(|wanted| !wanted.eq(values(found))).then(|| format!("values {:?}", values(found)))
}

#[test]
fn every_view_is_pytorchs_or_refused_in_its_words() {
    let file = json("errors.json");
    let mut differences = Differences::default();
    let mut beyond = 0;
    for case in file["calls"].as_array().unwrap() {
        let name = case["fn"].as_str().unwrap();
        let strides = case.get("strides").map(list::<usize>);
        let x = subject(&list::<usize>(&case["shape"]), strides);
        let arguments = Arguments(case["args"].as_array().unwrap());
        if name == "item" {
            let found = x.item::<f32>().map_err(|error| refusal(&error));
            let wanted = case.get("error").cloned();
            differences.check(found.as_ref().err() == wanted.as_ref(), || format!("{case}: {found:?}"));
            continue;
        }
        let Some(found) = on_tensor(name, &x, &arguments) else {
            beyond += 1;
            continue;
        };
        // PyTorch's text there is about an overflow that does not exist here.
        if name == "expand" && x.ndim() == 0 && arguments.ints(0) == [-1] {
            assert!(found.is_err());
            continue;
        }
        // A sum is never a view.
        let exact = name != "sum_to_size";
        let wrong = match (&found, case.get("result"), case.get("error")) {
            (Ok(found), Some(wanted), _) => difference(found, wanted, std::slice::from_ref(&x), exact),
            (Err(error), _, Some(wanted)) => (refusal(error) != *wanted).then(|| refusal(error).to_string()),
            (Ok(_), None, _) => Some("accepted".to_owned()),
            (Err(error), ..) => Some(error.to_string()),
        };
        differences.check(wrong.is_none(), || format!("{case}\n    {}", wrong.unwrap_or_default()));
        if let Some(expr) = on_expr(name, &Expr::from(&x), &arguments) {
            let same = match (&found, expr.eval()) {
                (Ok(tensor), Ok(own)) => tensor.shape() == own.shape() && values(tensor) == values(&own),
                (Err(error), Err(own)) => refusal(error) == refusal(&own),
                // Of values that are not in memory a reshape needs no view.
                _ => false,
            };
            differences.check(same, || format!("as an expression: {case}"));
        }
    }
    // `split` and `chunk`, and negative counts, which have no type here.
    assert!(beyond <= 19, "{beyond} calls have no counterpart");
    differences.finish(500);
}

#[test]
fn lists_are_joined_as_pytorch_joins_them() {
    let file = json("errors.json");
    let mut differences = Differences::default();
    for case in file["lists"].as_array().unwrap() {
        let shapes = case["shapes"].as_array().unwrap();
        let tensors: Vec<Tensor> = shapes.iter().map(|shape| subject(&list::<usize>(shape), None)).collect();
        let references: Vec<&Tensor> = tensors.iter().collect();
        let dim = Arguments(case["args"].as_array().unwrap()).int(0, 0);
        let found = match case["fn"].as_str().unwrap() {
            "cat" => cat(&references, dim).map(|joined| vec![joined]),
            "stack" => stack(&references, dim).map(|joined| vec![joined]),
            "broadcast_tensors" => broadcast_tensors(&references),
            other => panic!("no such function: {other}"),
        };
        let wanted = case.get("result").map(|result| match result {
            Value::Array(results) => results.clone(),
            one => vec![one.clone()],
        });
        let wrong = match (found, wanted) {
            (Ok(found), Some(wanted)) if found.len() == wanted.len() => found
                .iter()
                .zip(&wanted)
                .find_map(|(found, wanted)| difference(found, wanted, &tensors, true)),
            (Ok(found), _) => Some(format!("{} results", found.len())),
            (Err(error), _) => {
                (Some(&refusal(&error)) != case.get("error")).then(|| refusal(&error).to_string())
            }
        };
        differences.check(wrong.is_none(), || format!("{case}\n    {}", wrong.unwrap_or_default()));
    }
    differences.finish(41);
}

#[test]
fn joined_dtypes_are_promoted_and_parts_may_be_any_view() {
    let ints = Tensor::arange(0, 6, 1).unwrap().view(&[2, 3]).unwrap();
    let halves = Tensor::full(&[1, 3], 0.5, DType::F16).unwrap().expand(&[2, 3]).unwrap();
    let joined = cat(&[&ints.t().unwrap(), &halves.t().unwrap()], 1).unwrap();
    assert_eq!(joined.dtype(), DType::F16);
    assert_eq!(values(&joined), [0.0, 3.0, 0.5, 0.5, 1.0, 4.0, 0.5, 0.5, 2.0, 5.0, 0.5, 0.5]);
    let reversed = ints.flip(&[0, 1]).unwrap();
    assert_eq!(values(&stack(&[&ints, &reversed], -1).unwrap())[..4], [0.0, 5.0, 1.0, 4.0]);
}
