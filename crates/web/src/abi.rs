//! Owns the functions that JavaScript calls: memory for a question, the call that answers it, the address of
//! the answer. It does not know what is asked.
//!
//! Memory is passed as an address, which needs no unsafe code here: the page writes into a vector that lives
//! until the next question. Only `no_mangle` is unsafe, since two functions with the same name would clash;
//! no other library of the module exports any.

use std::sync::{Mutex, MutexGuard, PoisonError};

static QUESTION: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static ANSWER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

fn lock(bytes: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    bytes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Allocates memory for a question of `len` bytes and returns its address, which is valid until the next
/// call.
#[unsafe(no_mangle)]
pub extern "C" fn question(len: usize) -> *mut u8 {
    let mut question = lock(&QUESTION);
    question.clear();
    question.resize(len, 0);
    question.as_mut_ptr()
}

/// Answers the question and returns the length of the answer in bytes.
#[unsafe(no_mangle)]
pub extern "C" fn ask() -> usize {
    let text = String::from_utf8_lossy(&lock(&QUESTION)).into_owned();
    let mut answer = lock(&ANSWER);
    *answer = crate::answer(&text).into_bytes();
    answer.len()
}

/// The address of the answer, valid until the next question is asked.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    lock(&ANSWER).as_ptr()
}
