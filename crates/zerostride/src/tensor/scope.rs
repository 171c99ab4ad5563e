//! Owns tensors on memory that is only borrowed: a scope that tensors may see it for. It does not know who
//! has the memory.

use std::cell::RefCell;
use std::marker::PhantomData;

use bytemuck::{NoUninit, Pod};
use zerostride_ops::Element;
use zerostride_shape::{Layout, Shape, Strides};

use super::{Lent, Tensor};
use crate::memory::Shared;
use crate::{Error, Result};

/// Memory that tensors borrow until the call of [`scope`] returns.
#[derive(Debug)]
pub struct Scope<'env> {
    storages: RefCell<Vec<Shared>>,
    /// Neither longer nor shorter borrows will do.
    _borrows: PhantomData<&'env mut &'env ()>,
}

/// Lets tensors see borrowed memory without a copy, while `run` runs.
///
/// The borrow ends with the call: an operation on another thread that still uses such a tensor is waited for,
/// and a handle that is left is refused with [`Error::ScopeEnded`] wherever its elements are needed. Results
/// of operations are ordinary tensors.
///
/// ```
/// use zerostride::scope;
/// let (rows, column) = (vec![1.0f32, 2.0, 3.0, 4.0], [10.0f32, 20.0]);
/// let sum = scope(|scope| scope.slice(&rows, &[2, 2])?.add(scope.slice(&column, &[2, 1])?))?;
/// assert_eq!(sum.to_vec::<f32>()?, [11.0, 12.0, 23.0, 24.0]);
/// # Ok::<(), zerostride::Error>(())
/// ```
pub fn scope<'env, R>(run: impl FnOnce(&Scope<'env>) -> R) -> R {
    run(&Scope { storages: RefCell::new(Vec::new()), _borrows: PhantomData })
}

impl<'env> Scope<'env> {
    /// A tensor on the elements of a slice, in row-major order, only for reading.
    ///
    /// # Errors
    /// The slice has another length than the shape.
    pub fn slice<T: Element + NoUninit>(&self, elements: &'env [T], shape: &[usize]) -> Result<Tensor> {
        let strides = contiguous(elements.len(), shape)?;
        // SAFETY: the slice has an element for each index, and is borrowed until the scope ends.
        unsafe { self.borrowed(elements.as_ptr(), shape, &strides, false) }
    }

    /// As [`Scope::slice`], for writing too.
    ///
    /// ```
    /// use zerostride::{scope, tensor};
    /// let mut x = [1.0f32, 2.0, 3.0];
    /// scope(|scope| scope.slice_mut(&mut x, &[3])?.mul_(2).map(drop))?;
    /// assert_eq!(x, [2.0, 4.0, 6.0]);
    /// # Ok::<(), zerostride::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Scope::slice`].
    pub fn slice_mut<T: Element + Pod>(&self, elements: &'env mut [T], shape: &[usize]) -> Result<Tensor> {
        let strides = contiguous(elements.len(), shape)?;
        // SAFETY: as for `slice`, and the borrow is exclusive.
        unsafe { self.borrowed(elements.as_mut_ptr(), shape, &strides, true) }
    }

    /// A tensor on elements, of which `first` is at index zero.
    ///
    /// # Safety
    /// All memory from the lowest to the highest of the elements is initialised and borrowed for `'env`,
    /// exclusively if `writable`, in which case every pattern of bits is one of `T`.
    ///
    /// # Errors
    /// No layout reaches so far.
    pub(crate) unsafe fn borrowed<T: Element + NoUninit>(
        &self,
        first: *const T,
        shape: &[usize],
        strides: &[isize],
        writable: bool,
    ) -> Result<Tensor> {
        let lent = Lent::elements(first, shape, strides, writable);
        // SAFETY: elements of `NoUninit` are initialised; the memory is the caller's word until the scope
        // ends, which closes the storage: after that no operation gets a claim on it, and so none touches it.
        let tensor = unsafe { Tensor::from_lent(&lent, ()) }?;
        self.storages.borrow_mut().push(tensor.storage().clone());
        Ok(tensor)
    }
}

impl Drop for Scope<'_> {
    fn drop(&mut self) {
        self.storages.get_mut().iter().for_each(|storage| storage.close());
    }
}

/// The strides of a row-major tensor of so many elements.
fn contiguous(len: usize, shape: &[usize]) -> Result<Strides> {
    let shape = Shape::new(shape)?;
    if shape.numel() != len {
        return Err(Error::Length { shape, len });
    }
    Ok(Layout::contiguous(shape).into_parts().1)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    use super::*;

    #[test]
    fn a_handle_that_is_left_is_refused_whatever_wants_its_elements() {
        let mut elements = vec![1.0f32; 1 << 16];
        let [whole, row] = scope(|scope| {
            let x = scope.slice_mut(&mut elements, &[1 << 8, 1 << 8]).unwrap();
            x.add_(1).unwrap();
            [x.alias(), x.select(0, 3).unwrap()]
        });
        assert!(elements.iter().all(|&element| element == 2.0));
        for x in [whole, row] {
            let other = Tensor::ones(&[1]).unwrap();
            let refusals = [
                x.to_vec::<f32>().map(drop),
                x.clone_elements().map(drop),
                x.neg().map(drop),
                x.add(&other).map(drop),
                x.sum(..).map(drop),
                x.exp_(),
                x.fill_(0),
                (&x * 2).eval_into(&x),
                x.item::<f32>().map(drop),
                x.matmul(x.t().unwrap()).map(drop),
                crate::cat(&[&x, &x], 0).map(drop),
            ];
            for refusal in refusals {
                assert!(matches!(refusal.unwrap_err().root(), Error::ScopeEnded));
            }
            assert!(x.to_string().contains("scope"), "{x}");
        }
    }

    #[test]
    fn the_scope_waits_for_an_operation_on_another_thread() {
        let mut elements = vec![0.0f64; 1 << 22];
        let has_begun = AtomicBool::new(false);
        let last = thread::scope(|threads| {
            let x = scope(|scope| {
                let x = scope.slice_mut(&mut elements, &[1 << 22]).unwrap();
                let other = x.alias();
                let has_begun = &has_begun;
                let adding = threads.spawn(move || {
                    let mut done = 0;
                    while other.add_(1).map(|()| has_begun.store(true, Ordering::Release)).is_ok() {
                        done += 1;
                    }
                    done
                });
                while !has_begun.load(Ordering::Acquire) {
                    thread::yield_now();
                }
                adding
            });
            // Nothing writes any more.
            let seen = elements[0];
            let done = x.join().unwrap();
            assert_eq!(f64::from(done), seen);
            seen
        });
        assert!(elements.iter().all(|&element| element == last));
    }

    #[test]
    fn a_borrow_ends_where_the_scope_panics() {
        let elements = [1i32, 2, 3];
        let left = std::sync::Mutex::new(None);
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            scope(|scope| {
                *left.lock().unwrap() = Some(scope.slice(&elements, &[3]).unwrap());
                panic!("out");
            })
        }));
        assert!(panic.is_err());
        let left = left.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take().unwrap();
        assert!(matches!(left.to_vec::<i32>().unwrap_err().root(), Error::ScopeEnded));
    }

    #[test]
    fn a_shared_borrow_is_not_written() {
        let elements = [true, false];
        scope(|scope| {
            let x = scope.slice(&elements, &[2]).unwrap();
            assert_eq!(x.logical_not().unwrap().to_vec::<bool>().unwrap(), [false, true]);
            assert!(matches!(x.fill_(true).unwrap_err().root(), Error::ReadOnly));
            assert!(matches!(scope.slice(&elements, &[3]), Err(Error::Length { len: 2, .. })));
        });
    }
}
