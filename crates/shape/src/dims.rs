//! Owns `Dims`, the short sequence behind [`Shape`](crate::Shape), [`Strides`](crate::Strides) and
//! [`Roles`](crate::Roles): up to six entries inline, more on the heap.
//! It does not know what the entries mean; rank limits and overflow checks live with the types that wrap it.

use alloc::vec::Vec;
use core::ops::{Deref, DerefMut};

/// Entries kept without a heap allocation; tensors of a higher rank are rare and large.
const INLINE: usize = 6;

#[derive(Clone)]
enum Repr<T> {
    Inline { len: u8, entries: [T; INLINE] },
    Heap(Vec<T>),
}

/// A sequence of one entry for each dimension.
#[derive(Clone)]
pub(crate) struct Dims<T>(Repr<T>);

impl<T: Copy + Default> Dims<T> {
    /// `len` times the same entry.
    #[inline]
    pub(crate) fn filled(len: usize, entry: T) -> Self {
        if len <= INLINE {
            Dims(Repr::Inline { len: len as u8, entries: [entry; INLINE] })
        } else {
            Dims(Repr::Heap(alloc::vec![entry; len]))
        }
    }

    #[inline]
    pub(crate) fn from_slice(source: &[T]) -> Self {
        if source.len() <= INLINE {
            // A loop of constant length costs less than the call that a copy of unknown length becomes.
            let entries = core::array::from_fn(|at| source.get(at).copied().unwrap_or_default());
            Dims(Repr::Inline { len: source.len() as u8, entries })
        } else {
            Dims(Repr::Heap(source.to_vec()))
        }
    }

    pub(crate) fn push(&mut self, entry: T) {
        match &mut self.0 {
            Repr::Inline { len, entries } if usize::from(*len) < INLINE => {
                entries[usize::from(*len)] = entry;
                *len += 1;
            }
            Repr::Inline { entries, .. } => {
                let mut heap = Vec::with_capacity(2 * INLINE);
                heap.extend_from_slice(entries);
                heap.push(entry);
                self.0 = Repr::Heap(heap);
            }
            Repr::Heap(entries) => entries.push(entry),
        }
    }

    /// Puts `entry` before position `at`, which is at most the length.
    pub(crate) fn insert(&mut self, at: usize, entry: T) {
        self.push(entry);
        self[at..].rotate_right(1);
    }

    /// Takes out the entry at position `at`, which is less than the length.
    pub(crate) fn remove(&mut self, at: usize) {
        self[at..].rotate_left(1);
        match &mut self.0 {
            Repr::Inline { len, .. } => *len -= 1,
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
        Dims(Repr::Inline { len: 0, entries: [T::default(); INLINE] })
    }
}

impl<T> Deref for Dims<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        match &self.0 {
            Repr::Inline { len, entries } => &entries[..usize::from(*len)],
            Repr::Heap(entries) => entries,
        }
    }
}

impl<T> DerefMut for Dims<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        match &mut self.0 {
            Repr::Inline { len, entries } => &mut entries[..usize::from(*len)],
            Repr::Heap(entries) => entries,
        }
    }
}

/// Writes the traits that make a wrapper of `Dims` read like the slice it holds.
///
/// Equality, order of hashing and printing are those of the slice, so that the inline and the heap form of
/// the same entries cannot be told apart.
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
