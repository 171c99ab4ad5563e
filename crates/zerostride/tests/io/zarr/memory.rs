//! A store in memory.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use zerostride::io::{Files, NewFiles, ReadAt, Source};
use zerostride::{Expr, Result, Tensor};

use crate::injected::{Calls, FailingReads};

/// A store in memory, whose calls fail after so many.
#[derive(Clone, Debug)]
pub(super) struct Memory {
    pub(super) files: Arc<Mutex<HashMap<String, Vec<u8>>>>,
    pub(super) calls: Arc<Calls>,
    pub(super) complete: Arc<AtomicUsize>,
}

impl Memory {
    pub(super) fn new() -> Memory {
        let memory = Memory { files: Arc::default(), calls: Arc::default(), complete: Arc::default() };
        memory.calls.let_through(usize::MAX);
        memory
    }

    /// All files of a folder.
    pub(super) fn of(folder: &Path) -> Memory {
        fn walk(folder: &Path, prefix: &str, files: &mut HashMap<String, Vec<u8>>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let key = format!("{prefix}{}", path.file_name().unwrap().to_string_lossy());
                match path.is_dir() {
                    true => walk(&path, &format!("{key}/"), files),
                    false => drop(files.insert(key, fs::read(&path).unwrap())),
                }
            }
        }
        let memory = Memory::new();
        walk(folder, "", &mut memory.files.lock().unwrap());
        memory
    }

    pub(super) fn source(&self, name: Option<&str>) -> Result<Source> {
        Source::of_store(Arc::new(self.clone()), name)
    }

    pub(super) fn read(&self, name: Option<&str>) -> Result<Tensor> {
        Expr::from(&self.source(name)?).eval()
    }
}

impl Files for Memory {
    fn open(&self, key: &str) -> io::Result<Option<Arc<dyn ReadAt>>> {
        self.calls.count()?;
        let bytes = self.files.lock().unwrap().get(key).cloned();
        Ok(bytes.map(|bytes| Arc::new(FailingReads(bytes, Arc::clone(&self.calls))) as Arc<dyn ReadAt>))
    }

    fn folders(&self, key: &str) -> io::Result<Vec<String>> {
        self.calls.count()?;
        let files = self.files.lock().unwrap();
        let below = files.keys().filter_map(|file| file.strip_prefix(key)?.split_once('/'));
        let mut names: Vec<String> = below.map(|(name, _)| name.to_owned()).collect();
        names.sort();
        names.dedup();
        Ok(names)
    }
}

/// A file of a store in memory.
struct NewFile(String, Memory);

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.1.calls.count()?;
        self.1.files.lock().unwrap().entry(self.0.clone()).or_default().extend(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.1.calls.count()
    }
}

impl NewFiles for Memory {
    fn reserve(&mut self, _: u64) -> io::Result<()> {
        self.calls.count()
    }

    fn create(&mut self, key: &str) -> io::Result<Box<dyn Write + Send>> {
        self.calls.count()?;
        Ok(Box::new(NewFile(key.to_owned(), self.clone())))
    }

    fn sync(&mut self) -> io::Result<()> {
        self.calls.count()
    }

    fn commit(self: Box<Self>) -> io::Result<()> {
        self.calls.count()?;
        self.complete.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}
