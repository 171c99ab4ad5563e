//! All pairs of shapes of rank at most 4 with sizes 0..3, and all triples of rank at most 3 with sizes 0..2.

use zerostride::{Error, Shape, Tensor, broadcast_shapes, broadcast_tensors};
use zerostride_shape::{Broadcast, broadcast_shape, check_in_place};

use crate::corpus::{Differences, left_aligned, rows};

struct Answer {
    result: Option<Vec<usize>>,
    mismatch: Vec<i8>,
}

impl Answer {
    fn all(name: &str) -> Vec<Answer> {
        let (ranks, results) = (rows(name, "result_rank"), rows(name, "result"));
        let answers = ranks.iter().zip(results).zip(rows(name, "mismatch"));
        let answer = |((rank, result), mismatch): ((&Vec<i8>, Vec<i8>), Vec<i8>)| Answer {
            result: usize::try_from(rank[0]).ok().map(|rank| left_aligned(&result[..rank])),
            mismatch,
        };
        answers.map(answer).collect()
    }

    fn text(&self) -> String {
        let [a, b, dim] = self.mismatch[..] else { panic!("a mismatch has three numbers") };
        format!(
            "The size of tensor a ({a}) must match the size of tensor b ({b}) at non-singleton dimension {dim}"
        )
    }

    /// Whether a shape or a refusal is this answer: text, and dimension as data.
    fn is<T: AsRef<[usize]>>(&self, found: &Result<T, Error>) -> bool {
        match (&self.result, found) {
            (Some(shape), Ok(found)) => *shape == found.as_ref(),
            (None, Err(error)) => {
                error.to_string() == self.text()
                    && error.diagnostic().unwrap().dim == Some(self.mismatch[2] as usize)
            }
            _ => false,
        }
    }
}

struct Sizes(Vec<usize>);

impl AsRef<[usize]> for Sizes {
    fn as_ref(&self) -> &[usize] {
        &self.0
    }
}

fn shape_of(tensor: Result<Tensor, Error>) -> Result<Sizes, Error> {
    tensor.map(|tensor| Sizes(tensor.shape().to_vec()))
}

fn fold(shapes: &[&[usize]]) -> Result<Sizes, Error> {
    let shape = broadcast_shape(shapes).map_err(Error::from);
    let broadcast = Broadcast::new(shapes).map_err(Error::from);
    assert_eq!(shape.is_ok(), broadcast.is_ok());
    if let (Ok(shape), Ok(broadcast)) = (&shape, broadcast) {
        assert_eq!(shape, broadcast.shape());
    }
    shape.map(|shape| Sizes(shape.to_vec()))
}

/// `torch.broadcast_shapes`, whose text counts from the right and shows the accumulated shape.
fn function_text(shapes: &[&[usize]], blamed: usize, from_right: usize) -> String {
    let ndim = shapes.iter().map(|shape| shape.len()).max().unwrap();
    let mut expected = vec![1; ndim];
    'fold: for (argument, shape) in shapes.iter().enumerate() {
        for (back, &size) in shape.iter().rev().enumerate() {
            if (argument, back + 1) == (blamed, from_right) {
                break 'fold;
            }
            if size != 1 {
                expected[ndim - 1 - back] = size;
            }
        }
    }
    let argument = shapes[blamed];
    let inner: Vec<String> = argument.iter().map(usize::to_string).collect();
    let tuple = format!("({}{})", inner.join(", "), if inner.len() == 1 { "," } else { "" });
    let size = argument[argument.len() - from_right];
    format!(
        "Attempting to broadcast a dimension of length {size} at -{from_right}! Mismatching argument at index {blamed} had {tuple}; but expected shape should be broadcastable to {expected:?}"
    )
}

fn function_agrees(shapes: &[&[usize]], answer: &Answer, blamed: usize) -> bool {
    match (&answer.result, broadcast_shapes(shapes)) {
        (Some(shape), Ok(found)) => found == shape[..],
        (None, Err(error)) => {
            let ndim = shapes[..=blamed].iter().map(|shape| shape.len()).max().unwrap();
            error.to_string() == function_text(shapes, blamed, ndim - answer.mismatch[2] as usize)
        }
        _ => false,
    }
}

#[test]
fn every_pair_broadcasts_or_is_refused_as_in_pytorch() {
    let shapes: Vec<Vec<usize>> =
        rows("shapes_pairs.npz", "shapes").iter().map(|row| left_aligned(row)).collect();
    let answers = Answer::all("shapes_pairs.npz");
    let in_place = rows("shapes_pairs.npz", "in_place");
    let mut differences = Differences::default();
    let pairs = shapes.iter().flat_map(|a| shapes.iter().map(move |b| (a, b)));
    for (((a, b), answer), code) in pairs.zip(&answers).zip(&in_place) {
        let found = fold(&[a, b]);
        differences.check(answer.is(&found), || format!("{a:?} + {b:?}"));
        differences.check(function_agrees(&[a, b], answer, 1), || format!("broadcast_shapes({a:?}, {b:?})"));
        let written = found.and_then(|shape| Ok(check_in_place(a, &Shape::new(&shape.0)?)?));
        let right = match (code[0], &written) {
            (0, Ok(())) => true,
            (1, Err(error)) => error.to_string() == answer.text(),
            (2, Err(error)) => {
                let result = answer.result.as_ref().unwrap();
                error.to_string()
                    == format!("output with shape {a:?} doesn't match the broadcast shape {result:?}")
            }
            _ => false,
        };
        differences.check(right, || format!("{a:?} += {b:?}: {written:?}"));
    }
    differences.finish(3 * 116_281);
}

#[test]
fn the_engine_gives_each_pair_the_shape_of_the_rule() {
    let shapes: Vec<Vec<usize>> =
        rows("shapes_pairs.npz", "shapes").iter().map(|row| left_aligned(row)).collect();
    let answers = Answer::all("shapes_pairs.npz");
    let in_place = rows("shapes_pairs.npz", "in_place");
    let tensors: Vec<Tensor> = shapes.iter().map(|shape| Tensor::ones(shape).unwrap()).collect();
    let mut differences = Differences::default();
    // Every ninth pair: 9 and 341 have no common divisor, so that every shape stands on both sides.
    for pair in (0..answers.len()).step_by(9) {
        let (a, b) = (&tensors[pair / shapes.len()], &tensors[pair % shapes.len()]);
        let names = || format!("{:?} and {:?}", a.shape(), b.shape());
        let sum = a.add(b);
        let twos =
            sum.as_ref().map_or(true, |sum| sum.to_vec::<f32>().unwrap().iter().all(|&sum| sum == 2.0));
        differences.check(twos && answers[pair].is(&shape_of(sum)), || format!("add of {}", names()));
        let target = a.clone_elements().unwrap();
        let done = target.add_(b);
        differences
            .check(done.is_ok() == (in_place[pair][0] == 0), || format!("add_ of {}: {done:?}", names()));
    }
    differences.finish(2 * 116_281 / 9);
}

#[test]
fn every_triple_folds_as_in_pytorch() {
    let name = "shapes_triples.npz";
    let shapes: Vec<Vec<usize>> = rows(name, "shapes").iter().map(|row| left_aligned(row)).collect();
    let answers = Answer::all(name);
    let blamed = rows(name, "broadcast_shapes_index");
    let tensors: Vec<Tensor> = shapes.iter().map(|shape| Tensor::ones(shape).unwrap()).collect();
    let count = shapes.len();
    let mut differences = Differences::default();
    for (triple, answer) in answers.iter().enumerate() {
        let [i, j, k] = [triple / count / count, triple / count % count, triple % count];
        let (a, b, c) = (&shapes[i], &shapes[j], &shapes[k]);
        let names = || format!("{a:?}, {b:?}, {c:?}");
        differences.check(answer.is(&fold(&[a, b, c])), names);
        let index = blamed[triple][0] as usize;
        differences
            .check(function_agrees(&[a, b, c], answer, index), || format!("broadcast_shapes of {}", names()));
        if triple % 13 == 0 {
            let (x, y, z) = (&tensors[i], &tensors[j], &tensors[k]);
            let condition = x.gt(0).unwrap();
            let ways: [(&str, Result<Tensor, Error>); 5] = [
                ("where", y.where_(&condition, z)),
                ("addcmul", x.addcmul(y, z, 1)),
                ("addcdiv", x.addcdiv(y, z, 2)),
                ("clamp", x.clamp(y, z)),
                ("broadcast_tensors", broadcast_tensors(&[x, y, z]).map(|mut tensors| tensors.remove(0))),
            ];
            for (way, found) in ways {
                let found = shape_of(found);
                let shown = found.as_ref().err().map(ToString::to_string);
                differences.check(answer.is(&found), || format!("{way} of {}: {shown:?}", names()));
            }
        }
    }
    differences.finish(2 * 64_000);
}
