//! Indexing, gathering, sorting, searching and their kind: against PyTorch's committed answers
//! (`spec/README.md`) in every layout, and against laws that hold for all inputs.

mod corpus;
mod golden;
mod laws;
