//! Owns the calls of `arrange.json` and their comparison with PyTorch's answers.

use serde_json::Value;
use zerostride::{DType, Dims, Operand, Result, Tensor, dstack, hstack, keepdim, meshgrid, vstack};

use crate::corpus::{
    cases, difference, difference_but_for, int, ints, is_tensor, items, layouts, number, refusal, sizes,
    tensor, values,
};

/// A value to write: a tensor or a number.
fn value(value: &Value) -> Operand<'static> {
    if is_tensor(value) { tensor(value).into() } else { number(value).into() }
}

fn optional(dim: &Value) -> Option<isize> {
    (!dim.is_null()).then(|| int(dim))
}

fn keeps(flag: Option<&Value>) -> bool {
    flag.is_some_and(|flag| flag == true)
}

fn pair((first, second): (Tensor, Tensor)) -> Vec<Tensor> {
    vec![first, second]
}

/// The call on several tensors, or on none.
fn on_list(name: &str, tensors: &[&Tensor], args: &[Value]) -> Result<Vec<Tensor>> {
    let dtype = || args[3].as_str().unwrap().parse::<DType>().unwrap();
    Ok(match name {
        "meshgrid" => meshgrid(tensors, args[0] == "xy")?,
        "hstack" => vec![hstack(tensors)?],
        "vstack" => vec![vstack(tensors)?],
        "dstack" => vec![dstack(tensors)?],
        "arange" => {
            vec![Tensor::arange_as(number(&args[0]), number(&args[1]), number(&args[2]), dtype())?]
        }
        "linspace" => {
            let steps = int(&args[2]) as usize;
            vec![Tensor::linspace_as(number(&args[0]), number(&args[1]), steps, dtype())?]
        }
        other => panic!("no such function: {other}"),
    })
}

/// The call on a tensor; an in-place function hands the tensor out.
fn call(name: &str, x: &Tensor, args: &[Value]) -> Result<Vec<Tensor>> {
    let written = |done: Result<()>| done.map(|()| vec![x.alias()]);
    let dim = || int(&args[0]);
    Ok(match name {
        "index" => vec![x.index(&items(args))?],
        "assign_" => written(x.assign_(&items(args[0].as_array().unwrap()), value(&args[1])))?,
        "index_put_" => {
            let items = items(args[0].as_array().unwrap());
            written(x.index_put_(&items, value(&args[1]), args[2].as_bool().unwrap()))?
        }
        "masked_select" => vec![x.masked_select(&tensor(&args[0]))?],
        "masked_scatter_" => written(x.masked_scatter_(&tensor(&args[0]), &tensor(&args[1])))?,
        "take" => vec![x.take(&tensor(&args[0]))?],
        "take_along_dim" => vec![x.take_along_dim(&tensor(&args[0]), optional(&args[1]))?],
        "gather" => vec![x.gather(dim(), &tensor(&args[1]))?],
        "scatter_" => written(x.scatter_(dim(), &tensor(&args[1]), &tensor(&args[2])))?,
        "scatter_add_" => written(x.scatter_add_(dim(), &tensor(&args[1]), &tensor(&args[2])))?,
        "scatter_multiply_" => written(x.scatter_multiply_(dim(), &tensor(&args[1]), &tensor(&args[2])))?,
        "index_select" => vec![x.index_select(dim(), &tensor(&args[1]))?],
        "index_add_" => {
            written(x.index_add_(dim(), &tensor(&args[1]), &tensor(&args[2]), int(&args[3]) as i64))?
        }
        "sort" => pair(x.sort(dim(), args[1].as_bool().unwrap())?),
        "topk" => pair(x.topk(int(&args[0]) as usize, int(&args[1]), args[2].as_bool().unwrap())?),
        "nonzero" => vec![x.nonzero()?],
        "count_nonzero" if args[0].is_null() => vec![x.count_nonzero(..)?],
        "count_nonzero" => vec![x.count_nonzero(&ints(&args[0])[..])?],
        "searchsorted" => vec![x.searchsorted(&tensor(&args[0]), args[1].as_bool().unwrap())?],
        "unique" => {
            let found = x.unique()?;
            assert_eq!(
                format!("{:?}", values(&x.take(&found.indices)?)),
                format!("{:?}", values(&found.values))
            );
            vec![found.values, found.inverse, found.counts]
        }
        "unique_along" => {
            let found = x.unique_along(dim())?;
            assert_eq!(
                format!("{:?}", values(&x.index_select(dim(), &found.indices)?)),
                format!("{:?}", values(&found.values))
            );
            vec![found.values, found.inverse, found.counts]
        }
        "median" if args.is_empty() => vec![x.median()?],
        "median" => pair(x.median_along(dim(), keeps(args.get(1)))?),
        "nanmedian" if args.is_empty() => vec![x.nanmedian()?],
        "nanmedian" => pair(x.nanmedian_along(dim(), keeps(args.get(1)))?),
        "kthvalue" => pair(x.kthvalue(int(&args[0]) as usize, int(&args[1]), keeps(args.get(2)))?),
        "quantile" | "nanquantile" => {
            let quantile = if name == "quantile" { Tensor::quantile } else { Tensor::nanquantile };
            let how = args[3].as_str().unwrap().parse()?;
            vec![quantile(x, &tensor(&args[0]), optional(&args[1]), keeps(args.get(2)), how)?]
        }
        "nansum" | "nanmean" => {
            let dims = if args[0].is_null() { Dims::from(..) } else { Dims::from(dim()) };
            let dims = if keeps(args.get(1)) { keepdim(dims) } else { dims };
            vec![if name == "nansum" { x.nansum(dims)? } else { x.nanmean(dims)? }]
        }
        "cumsum" => vec![x.cumsum(dim())?],
        "cumprod" => vec![x.cumprod(dim())?],
        "diff" => {
            let part = |at: usize| is_tensor(&args[at]).then(|| tensor(&args[at]));
            vec![x.diff(int(&args[0]) as usize, int(&args[1]), part(2).as_ref(), part(3).as_ref())?]
        }
        "roll" => vec![x.roll(&ints(&args[0]), &ints(&args[1]))?],
        "repeat_interleave" => vec![x.repeat_interleave(int(&args[0]) as usize, optional(&args[1]))?],
        "repeat_each" => vec![x.repeat_each(&tensor(&args[0]), optional(&args[1]))?],
        "split" => x.split(int(&args[0]) as usize, int(&args[1]))?,
        "split_sizes" => x.split_sizes(&sizes(&args[0]), int(&args[1]))?,
        "chunk" => x.chunk(int(&args[0]) as usize, int(&args[1]))?,
        "unbind" => x.unbind(dim())?,
        "inner" => vec![x.inner(tensor(&args[0]))?],
        "trace" => vec![x.trace()?],
        "fliplr" => vec![x.fliplr()?],
        "flipud" => vec![x.flipud()?],
        "outer" => vec![x.outer(tensor(&args[0]))?],
        "vecdot" => vec![x.vecdot(tensor(&args[0]), int(&args[1]))?],
        "tensordot" => vec![x.tensordot(tensor(&args[0]), &ints(&args[1]), &ints(&args[2]))?],
        "cov" => {
            let part = |at: usize| is_tensor(&args[at]).then(|| tensor(&args[at]));
            vec![x.cov(int(&args[0]) as i64, part(1).as_ref(), part(2).as_ref())?]
        }
        "corrcoef" => vec![x.corrcoef()?],
        "tril" => vec![x.tril(int(&args[0]) as i64)?],
        "triu" => vec![x.triu(int(&args[0]) as i64)?],
        other => panic!("no such function: {other}"),
    })
}

/// What differs between our answer and PyTorch's.
fn wrong(found: &Result<Vec<Tensor>>, case: &Value) -> Option<String> {
    // The wider unsigned integers, which PyTorch mostly refuses to compute with and to promote.
    let beyond = || {
        let text = case["error"]["text"].as_str();
        text.is_some_and(|text| text.contains("not implemented for 'UInt") || text.contains("promote UInt"))
    };
    match (found, &case["result"]) {
        (Ok(_), Value::Null) if beyond() => None,
        (Ok(found), Value::Null) => Some(format!("accepted: {} results", found.len())),
        (Ok(found), Value::Array(wanted)) if found.len() == wanted.len() => {
            found.iter().zip(wanted).find_map(|(found, wanted)| difference(found, wanted))
        }
        // The products are summed in another order.
        (Ok(found), wanted) if matches!(case["fn"].as_str(), Some("cov" | "corrcoef")) => {
            difference_but_for(&found[0], wanted, 4.0)
        }
        (Ok(found), wanted) if found.len() == 1 => difference(&found[0], wanted),
        (Ok(found), _) => Some(format!("{} results", found.len())),
        (Err(error), _) => (refusal(error) != case["error"]).then(|| refusal(error).to_string()),
    }
}

#[test]
fn every_answer_is_pytorchs_in_every_layout() {
    let cases = cases("arrange.json", "cases");
    let mut lines = Vec::new();
    for case in &cases {
        let name = case["fn"].as_str().unwrap();
        if let Value::Array(parts) = &case["on"] {
            let parts: Vec<Tensor> = parts.iter().map(tensor).collect();
            let found = on_list(name, &parts.iter().collect::<Vec<_>>(), case["args"].as_array().unwrap());
            lines.extend(wrong(&found, case).map(|wrong| format!("{case}\n    {wrong}")));
            continue;
        }
        let differs = layouts(&tensor(&case["on"])).into_iter().find_map(|(layout, x)| {
            let found = call(name, &x, case["args"].as_array().unwrap());
            wrong(&found, case).map(|wrong| format!("{layout}: {case}\n    {wrong}"))
        });
        lines.extend(differs);
    }
    assert!(lines.is_empty(), "{} differ:\n{}", lines.len(), lines[..lines.len().min(40)].join("\n"));
    assert!(cases.len() >= 500, "only {} cases were seen", cases.len());
}

#[test]
fn every_index_of_the_views_is_pytorchs() {
    let mut seen = 0;
    for case in cases("errors.json", "indexes") {
        let given = case["index"].as_array().unwrap();
        // What Rust's types keep out, and what PyTorch has no views for.
        let beyond = |item: &Value| {
            item.is_f64()
                || item.is_u64() && item.as_i64().is_none()
                || item.is_string() && item != "..."
                || item.get("float_index").is_some()
                || item["slice"][2].as_i64().is_some_and(|step| step < 0)
        };
        // PyTorch takes a second ellipsis for nothing; here, as in NumPy, there is one at most.
        let ellipses = given.iter().filter(|item| **item == "...").count();
        if given.iter().any(beyond) || ellipses > 1 {
            continue;
        }
        seen += 1;
        let shape = sizes(&case["shape"]);
        let count: usize = shape.iter().product();
        let x = Tensor::arange(0, count as i64, 1).unwrap().to_dtype(DType::F32).unwrap();
        let signed: Vec<isize> = shape.iter().map(|&size| size as isize).collect();
        let x = x.view(&signed).unwrap();
        match (x.index(&items(given)), &case["result"]) {
            (Ok(found), wanted) if !wanted.is_null() => {
                assert_eq!(found.shape(), sizes(&wanted["shape"]), "{case}");
                assert_eq!(found.shares_storage(&x), wanted["view"] == true, "{case}");
                if let Some(wanted) = wanted["values"].as_array() {
                    let found = values(&found).into_iter().map(|[value, _]| value);
                    assert!(found.eq(wanted.iter().map(|value| value.as_f64().unwrap())), "{case}");
                }
            }
            (Err(error), _) => assert_eq!(refusal(&error), case["error"], "{case}"),
            (Ok(_), _) => panic!("accepted: {case}"),
        }
    }
    assert!(seen >= 60, "only {seen} cases were seen");
}
