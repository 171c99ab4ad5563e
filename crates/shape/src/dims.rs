//! Owns `Dims`, the short sequence behind [`Shape`](crate::Shape), [`Strides`](crate::Strides) and
//! [`Roles`](crate::Roles): up to five entries inline, more on the heap.
//! It does not know what the entries mean; limits on rank and overflow are checked by the types that wrap it.

use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};

/// The number of dimensions that shapes and strides hold inline, without a heap allocation. Tensors with more
/// dimensions are rare and large. With one more inline, `Tensor` would take 136 bytes, and moves of more than
/// 128 bytes are calls of `memcpy`.
pub const FEW_DIMS: usize = 5;

#[derive(Clone)]
enum Repr<T> {
    Inline { len: Few, entries: [T; FEW_DIMS] },
    Heap(Vec<T>),
}

/// How many entries are inline. It is a whole word whose unused values are the niche for [`Repr`]'s tag, so
/// that `Repr` consists of whole words. With a tag of one byte, a move would store and reload them.
#[derive(Clone, Copy)]
#[repr(usize)]
enum Few {
    Zero,
    One,
    Two,
    Three,
    Four,
    Five,
}

impl Few {
    const ALL: [Few; FEW_DIMS + 1] = [Few::Zero, Few::One, Few::Two, Few::Three, Few::Four, Few::Five];

    /// `None` if there are more than fit inline.
    #[inline(always)]
    fn new(len: usize) -> Option<Few> {
        Few::ALL.get(len).copied()
    }
}

/// A sequence of one entry for each dimension.
#[derive(Clone)]
pub(crate) struct Dims<T>(Repr<T>);

impl<T: Copy + Default> Dims<T> {
    /// `len` equal entries.
    #[inline]
    pub(crate) fn filled(len: usize, entry: T) -> Self {
        match Few::new(len) {
            Some(len) => Dims(Repr::Inline { len, entries: [entry; FEW_DIMS] }),
            None => Dims(Repr::Heap(alloc::vec![entry; len])),
        }
    }

    /// The first `len` of `entries`.
    ///
    /// # Panics
    /// If `len` is more than [`FEW_DIMS`].
    #[inline(always)]
    pub(crate) fn few(entries: [T; FEW_DIMS], len: usize) -> Self {
        Dims(Repr::Inline { len: Few::new(len).expect("as many entries as there are"), entries })
    }

    #[inline]
    pub(crate) fn from_slice(source: &[T]) -> Self {
        match Few::new(source.len()) {
            Some(len) => {
                // The loop has a constant length; a copy of variable length would be a call of `memcpy`.
                let entries = core::array::from_fn(|at| source.get(at).copied().unwrap_or_default());
                Dims(Repr::Inline { len, entries })
            }
            None => Dims(Repr::Heap(source.to_vec())),
        }
    }

    pub(crate) fn push(&mut self, entry: T) {
        match &mut self.0 {
            Repr::Inline { len, entries } => {
                let at = *len as usize;
                if let Some(longer) = Few::new(at + 1) {
                    (*len, entries[at]) = (longer, entry);
                } else {
                    let mut heap = Vec::with_capacity(2 * FEW_DIMS);
                    heap.extend_from_slice(entries);
                    heap.push(entry);
                    self.0 = Repr::Heap(heap);
                }
            }
            Repr::Heap(entries) => entries.push(entry),
        }
    }

    /// Inserts `entry` before position `at`, which is at most the length.
    pub(crate) fn insert(&mut self, at: usize, entry: T) {
        self.push(entry);
        self[at..].rotate_right(1);
    }

    /// Removes the entry at position `at`, which is less than the length.
    pub(crate) fn remove(&mut self, at: usize) {
        self[at..].rotate_left(1);
        match &mut self.0 {
            Repr::Inline { len, .. } => *len = Few::ALL[*len as usize - 1],
            Repr::Heap(entries) => {
                entries.pop();
            }
        }
    }
}

impl<T: Copy + Default> FromIterator<T> for Dims<T> {
    fn from_iter<I: IntoIterator<Item = T>>(entries: I) -> Self {
        let mut dims = Dims::default();
        for entry in entries {
            dims.push(entry);
        }
        dims
    }
}

impl<T: Copy + Default> Default for Dims<T> {
    #[inline]
    fn default() -> Self {
        Dims(Repr::Inline { len: Few::Zero, entries: [T::default(); FEW_DIMS] })
    }
}

impl<T> Deref for Dims<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Repr::Inline { len, entries } => &entries[..*len as usize],
            Repr::Heap(entries) => entries,
        }
    }
}

impl<T> DerefMut for Dims<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Repr::Inline { len, entries } => &mut entries[..*len as usize],
            Repr::Heap(entries) => entries,
        }
    }
}

/// Implements the traits that make a wrapper of `Dims` behave like a slice.
///
/// Comparison, hashing and printing are those of the slice, so that the inline and the heap form of the same
/// entries are equal.
macro_rules! reads_like_a_slice {
    ($name:ident, $entry:ty) => {
        impl core::ops::Deref for $name {
            type Target = [$entry];

            #[inline]
            fn deref(&self) -> &[$entry] {
                &self.0
            }
        }

        impl AsRef<[$entry]> for $name {
            fn as_ref(&self) -> &[$entry] {
                self
            }
        }

        impl core::borrow::Borrow<[$entry]> for $name {
            fn borrow(&self) -> &[$entry] {
                self
            }
        }

        impl<'a> IntoIterator for &'a $name {
            type Item = &'a $entry;
            type IntoIter = core::slice::Iter<'a, $entry>;

            fn into_iter(self) -> Self::IntoIter {
                self.iter()
            }
        }

        impl core::hash::Hash for $name {
            fn hash<H: core::hash::Hasher>(&self, state: &mut H) {
                (**self).hash(state);
            }
        }

        impl Eq for $name {}

        impl PartialEq for $name {
            #[inline]
            fn eq(&self, other: &Self) -> bool {
                **self == **other
            }
        }

        impl PartialEq<[$entry]> for $name {
            fn eq(&self, other: &[$entry]) -> bool {
                **self == *other
            }
        }

        impl PartialEq<&[$entry]> for $name {
            fn eq(&self, other: &&[$entry]) -> bool {
                **self == **other
            }
        }

        impl<const N: usize> PartialEq<[$entry; N]> for $name {
            fn eq(&self, other: &[$entry; N]) -> bool {
                **self == *other
            }
        }

        impl PartialEq<alloc::vec::Vec<$entry>> for $name {
            fn eq(&self, other: &alloc::vec::Vec<$entry>) -> bool {
                **self == **other
            }
        }

        impl core::fmt::Debug for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                core::fmt::Debug::fmt(&**self, f)
            }
        }
    };
}

pub(crate) use reads_like_a_slice;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_survive_the_move_to_the_heap_and_back_below_it() {
        let mut dims: Dims<usize> = (0..5).collect();
        dims.insert(2, 50);
        dims.insert(0, 60);
        dims.push(70);
        assert_eq!(*dims, [60, 0, 1, 50, 2, 3, 4, 70]);
        dims.remove(3);
        dims.remove(6);
        dims.remove(0);
        assert_eq!(*dims, [0, 1, 2, 3, 4]);
    }

    #[test]
    fn inline_and_heap_forms_of_the_same_entries_are_equal_slices() {
        let mut long: Dims<isize> = Dims::filled(7, -3);
        long.remove(0);
        assert_eq!(*long, *Dims::filled(6, -3));
    }
}
