//! Owns the claims of one operation on all storages that it touches: at once, so that no two operations wait
//! for each other. It does not know what is done with the bytes.

use std::sync::Arc;

use smallvec::SmallVec;

use super::borrow::{Claim, Holder, Named, Request};
use super::guard::Guard;
use super::pool::Shared;
use crate::Result;

/// Permission on all storages that an operation touches, by their addresses.
pub(crate) struct Access {
    /// In rising order.
    guards: SmallVec<[(usize, Guard); 6]>,
}

impl Access {
    /// Waits for ranges of storages.
    ///
    /// # Errors
    /// The wait was interrupted, or would never end.
    pub(crate) fn wait<'s>(
        claims: impl IntoIterator<Item = (&'s Shared, Claim)>,
        name: Option<Arc<dyn Named>>,
    ) -> Result<Access> {
        let holder = Holder::here(name);
        let acquire = |(storage, request): (&Shared, Request)| {
            Ok((storage.address(), Guard::acquire(storage, request, &holder)?))
        };
        Ok(Access { guards: by_storage(claims).into_iter().map(acquire).collect::<Result<_>>()? })
    }

    /// Takes the storages for an operation that neither waits nor runs foreign code until it releases them.
    /// `None` if another operation uses one of them.
    pub(crate) fn brief<'s>(claims: impl IntoIterator<Item = (&'s Shared, Claim)>) -> Option<Access> {
        let take = |(storage, request): (&Shared, Request)| {
            Some((storage.address(), Guard::brief(storage, &request)?))
        };
        Some(Access { guards: by_storage(claims).into_iter().map(take).collect::<Option<_>>()? })
    }

    /// Adds the claims of another permission, on other storages.
    pub(crate) fn add(&mut self, other: Access) {
        self.guards.extend(other.guards);
        self.guards.sort_unstable_by_key(|(address, _)| *address);
    }

    /// Whether the claims are brief.
    pub(crate) fn is_brief(&self) -> bool {
        self.guards.iter().any(|(_, guard)| guard.is_brief())
    }

    /// Begins to write a storage.
    pub(crate) fn start_writing(&mut self, storage: &Shared) {
        let place = self.place(storage);
        self.guards[place].1.start_writing();
    }

    /// The guard of a storage.
    ///
    /// # Panics
    /// If it has not been claimed.
    pub(crate) fn guard(&self, storage: &Shared) -> &Guard {
        &self.guards[self.place(storage)].1
    }

    /// The guard of a storage that is written, apart from the others.
    ///
    /// # Panics
    /// If it has not been claimed.
    pub(crate) fn split_off(&mut self, storage: &Shared) -> Guard {
        self.guards.remove(self.place(storage)).1
    }

    fn place(&self, storage: &Shared) -> usize {
        let address = storage.address();
        let found = self.guards.binary_search_by_key(&address, |(own, _)| *own);
        found.expect("an operation has claimed every storage that it touches")
    }
}

/// The request to each storage, by rising address: in this order no two operations wait for each other.
fn by_storage<'s>(
    claims: impl IntoIterator<Item = (&'s Shared, Claim)>,
) -> SmallVec<[(&'s Shared, Request); 6]> {
    let mut claims: SmallVec<[(&Shared, Claim); 6]> = claims.into_iter().collect();
    claims.sort_by_key(|(storage, _)| storage.address());
    let of_one = claims.chunk_by(|(one, _), (other, _)| one.is(other));
    of_one.map(|claims| (claims[0].0, claims.iter().map(|(_, claim)| claim.clone()).collect())).collect()
}
