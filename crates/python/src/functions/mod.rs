//! Owns the package's own functions and methods: those that are no rows of the engine's tables, or take other
//! arguments. Each is one row: a name, parameters, a sentence, and a body. `table.rs` calls the engine's. It
//! does not know how Python calls them (`entry.rs`).

mod choose;
mod convert;
mod create;
mod function;
mod join;
mod order;
mod product;
mod split;
mod statistics;
mod table;
mod view;

use zerostride_ops as ops;

pub(crate) use function::Function;
pub(crate) use order::places;
pub(crate) use product::matmul;
pub(crate) use table::call;
pub(crate) use view::{matrix_transposed, reversed};

/// The functions of the engine's table by their names, without those that have a row here.
pub(crate) fn table() -> impl Iterator<Item = (ops::Function, &'static str)> {
    let names = |&function: &ops::Function| function.info().names.iter().map(move |name| (function, *name));
    ops::Function::ALL.iter().flat_map(names).filter(|(_, name)| all().all(|own| own.name != *name))
}

/// Every row.
pub(crate) fn all() -> impl Iterator<Item = &'static Function> {
    create::ROWS.iter().chain(computing())
}

/// The rows that compute with tensors: all but those that create them.
pub(crate) fn computing() -> impl Iterator<Item = &'static Function> {
    let tables = [
        &view::ROWS[..],
        &convert::ROWS[..],
        &join::ROWS[..],
        &split::ROWS[..],
        &choose::ROWS[..],
        &order::ROWS[..],
        &product::ROWS[..],
        &statistics::ROWS[..],
    ];
    tables.into_iter().flatten()
}
