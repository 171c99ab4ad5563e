//! Owns `InMemory`: an output that keeps its result in memory. It does not know where elements come from.

use zerostride_ops::DType;
use zerostride_shape::{ErrorClass, Layout, Shape, checked_bytes};

use super::output::Output;
use crate::memory::Fresh;
use crate::{Error, Result, Tensor};

/// A result that stays in memory, beside others that go elsewhere.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// # let [path, out] = ["x.npy", "y.npy"].map(|name| folder.path().join(name));
/// # zerostride::io::save(&path, &zerostride::Tensor::rand(&[1000, 3], 1)?)?;
/// use zerostride::{Expr, io::{Sink, Source}, stream::{InMemory, Options, eval_all_to}};
///
/// let x = Expr::from(&Source::open(&path)?);
/// let mut sums = InMemory::default();
/// eval_all_to(&[x.exp(), x.exp().sum(1)], &mut [&mut Sink::create(&out)?, &mut sums], Options::new())?;
/// assert_eq!(sums.into_tensor()?.shape(), [1000]);
/// # Ok::<(), zerostride::Error>(())
/// ```
#[derive(Default)]
pub struct InMemory {
    value: Option<(Fresh, Shape, DType)>,
    filled: usize,
}

impl InMemory {
    /// The result.
    ///
    /// # Errors
    /// It is not complete.
    pub fn into_tensor(self) -> Result<Tensor> {
        match self.value {
            Some((fresh, shape, dtype)) if fresh.bytes().len() == self.filled => {
                Ok(Tensor::new(fresh.share(), Layout::contiguous(shape), dtype))
            }
            _ => Err(unlike()),
        }
    }
}

fn unlike() -> Error {
    let message =
        "a result in memory has as many elements as were announced, no more and no fewer".to_owned();
    Error::Argument { class: ErrorClass::Value, message }
}

impl Output for InMemory {
    fn begin(&mut self, dtype: DType, shape: &[usize]) -> Result<()> {
        let shape = Shape::new(shape)?;
        let bytes = checked_bytes(&shape, dtype.item_size())?;
        let fresh =
            Fresh::arbitrary(bytes).ok_or_else(|| Error::OutOfMemory { bytes, shape: shape.clone() })?;
        *self = InMemory { value: Some((fresh, shape, dtype)), filled: 0 };
        Ok(())
    }

    fn write(&mut self, elements: &[u8]) -> Result<()> {
        let (fresh, ..) = self.value.as_mut().ok_or_else(unlike)?;
        let end = self.filled.saturating_add(elements.len());
        fresh.bytes_mut().get_mut(self.filled..end).ok_or_else(unlike)?.copy_from_slice(elements);
        self.filled = end;
        Ok(())
    }

    fn finish(&mut self) -> Result<()> {
        Ok(())
    }

    fn is_in_memory(&self) -> bool {
        true
    }
}
