//! Owns the functions that JavaScript calls: room for a question, the question answered, where the answer
//! lies. It does not know what is asked.
//!
//! Memory is handed out as an address, which needs no unsafe code here: what a page writes there is bytes of
//! a vector that lives until the next question. `no_mangle` alone is unsafe, since two functions of one name
//! would be; no other library of the module exports any.

use std::sync::{Mutex, MutexGuard, PoisonError};

static QUESTION: Mutex<Vec<u8>> = Mutex::new(Vec::new());
static ANSWER: Mutex<Vec<u8>> = Mutex::new(Vec::new());

fn lock(bytes: &Mutex<Vec<u8>>) -> MutexGuard<'_, Vec<u8>> {
    bytes.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Makes room for a question of `len` bytes and says where; it stays there until this is called again.
#[unsafe(no_mangle)]
pub extern "C" fn question(len: usize) -> *mut u8 {
    let mut question = lock(&QUESTION);
    question.clear();
    question.resize(len, 0);
    question.as_mut_ptr()
}

/// Answers the question and says how many bytes the answer has.
#[unsafe(no_mangle)]
pub extern "C" fn ask() -> usize {
    let text = String::from_utf8_lossy(&lock(&QUESTION)).into_owned();
    let mut answer = lock(&ANSWER);
    *answer = crate::answer(&text).into_bytes();
    answer.len()
}

/// Where the answer lies, until the next question is asked.
#[unsafe(no_mangle)]
pub extern "C" fn answer() -> *const u8 {
    lock(&ANSWER).as_ptr()
}
