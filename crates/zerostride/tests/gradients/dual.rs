//! Owns the oracle: arrays of dual numbers, which carry the derivatives of every element with respect to
//! every input forward. It shares no code with the engine.

/// An array of dual numbers in row-major order.
#[derive(Clone, Debug)]
pub(crate) struct Dual {
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<f64>,
    /// For each element its derivatives.
    pub(crate) slopes: Vec<Vec<f64>>,
}

impl Dual {
    /// The inputs from number `first` on of `inputs` in all.
    pub(crate) fn input(shape: &[usize], values: &[f64], first: usize, inputs: usize) -> Dual {
        let slope =
            |place: usize| (0..inputs).map(|input| f64::from(u8::from(input == first + place))).collect();
        let slopes = (0..values.len()).map(slope).collect();
        Dual { shape: shape.to_vec(), values: values.to_vec(), slopes }
    }

    /// Each element's value and derivative by a function of both.
    pub(crate) fn map(&self, function: impl Fn(f64) -> (f64, f64)) -> Dual {
        let mut mapped = self.clone();
        for (value, slopes) in mapped.values.iter_mut().zip(&mut mapped.slopes) {
            let (new, slope) = function(*value);
            *value = new;
            slopes.iter_mut().for_each(|own| *own *= slope);
        }
        mapped
    }

    /// Two arrays that broadcast, by the value and the derivatives with respect to both.
    pub(crate) fn zip(&self, other: &Dual, function: impl Fn(f64, f64) -> (f64, f64, f64)) -> Dual {
        let shape = broadcast(&self.shape, &other.shape);
        self.gather(&shape, |index| stretched(index, &self.shape))
            .combine(&other.gather(&shape, |index| stretched(index, &other.shape)), function)
    }

    fn combine(&self, other: &Dual, function: impl Fn(f64, f64) -> (f64, f64, f64)) -> Dual {
        let mut combined = self.clone();
        for place in 0..self.values.len() {
            let (value, to_self, to_other) = function(self.values[place], other.values[place]);
            combined.values[place] = value;
            for (own, theirs) in combined.slopes[place].iter_mut().zip(&other.slopes[place]) {
                *own = *own * to_self + theirs * to_other;
            }
        }
        combined
    }

    /// An array of that shape whose elements stand at other indices here.
    pub(crate) fn gather(&self, shape: &[usize], index: impl Fn(&[usize]) -> Vec<usize>) -> Dual {
        let places: Vec<usize> =
            indices(shape).iter().map(|place| offset(&index(place), &self.shape)).collect();
        Dual {
            shape: shape.to_vec(),
            values: places.iter().map(|&place| self.values[place]).collect(),
            slopes: places.iter().map(|&place| self.slopes[place].clone()).collect(),
        }
    }

    /// A dimension folded from its first element on, as `zip` would do it; it stays with size 1.
    pub(crate) fn fold(&self, dim: usize, function: impl Fn(f64, f64) -> (f64, f64, f64)) -> Dual {
        let part = |place: usize| {
            let mut shape = self.shape.clone();
            shape[dim] = 1;
            self.gather(&shape, |index| {
                let mut index = index.to_vec();
                index[dim] = place;
                index
            })
        };
        (1..self.shape[dim]).fold(part(0), |sum, place| sum.combine(&part(place), &function))
    }
}

pub(crate) fn broadcast(a: &[usize], b: &[usize]) -> Vec<usize> {
    let ndim = a.len().max(b.len());
    let size =
        |shape: &[usize], dim: usize| (dim + shape.len()).checked_sub(ndim).map_or(1, |dim| shape[dim]);
    (0..ndim).map(|dim| if size(a, dim) == 1 { size(b, dim) } else { size(a, dim) }).collect()
}

fn stretched(index: &[usize], shape: &[usize]) -> Vec<usize> {
    let own = &index[index.len() - shape.len()..];
    own.iter().zip(shape).map(|(&index, &size)| if size == 1 { 0 } else { index }).collect()
}

fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for &size in shape {
        let longer =
            |index: &Vec<usize>| (0..size).map(|last| [&index[..], &[last]].concat()).collect::<Vec<_>>();
        all = all.iter().flat_map(longer).collect();
    }
    all
}

fn offset(index: &[usize], shape: &[usize]) -> usize {
    index.iter().zip(shape).fold(0, |offset, (&index, &size)| offset * size + index)
}
