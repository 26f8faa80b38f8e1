//! Reads the documents.

use crate::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The document that is used if none is given: 500 of the 1,707 earthquakes that the U.S. Geological
/// Survey recorded in a week of 2018, in its own words, with line breaks added. Its data are in the
/// public domain; this came with the npm package `vega-datasets` 2.11.0.
const EARTHQUAKES: &str = include_str!("earthquakes.json");

pub struct Document {
    pub name: String,
    pub text: String,
}

impl Document {
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            text: text.into(),
        }
    }

    /// Makes the error for this document, which is invalid; `n` is its position in the list of documents.
    pub fn invalid(&self, n: usize, source: serde_json::Error) -> Error {
        Error::Invalid {
            name: self.name.clone(),
            document: n,
            source,
        }
    }
}

/// Reads the documents at `paths`; without paths, returns the default one.
pub fn read(paths: &[PathBuf]) -> Result<Vec<Document>, Error> {
    if paths.is_empty() {
        return Ok(vec![Document::new("earthquakes.json", EARTHQUAKES)]);
    }
    let mut files = Vec::new();
    for path in paths {
        let before = files.len();
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        find(path, &mut files)?;
        if files.len() == before {
            return Err(Error::NoDocuments(path.clone()));
        }
    }
    let load = |path: &PathBuf| {
        let text = fs::read_to_string(path).map_err(unreadable(path))?;
        Ok(Document::new(path.display().to_string(), text))
    };
    files.iter().map(load).collect()
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Error + use<> {
    let name = path.display().to_string();
    move |source| Error::Unreadable { name, source }
}

/// Finds the documents in `directory` and below, in the order of their names. Links to directories
/// are not followed, because they may form cycles. What could be read for ever is skipped.
fn find(directory: &Path, found: &mut Vec<PathBuf>) -> Result<(), Error> {
    let entries = fs::read_dir(directory).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut entries = entries.map_err(unreadable(directory))?;
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if entry.file_type().map_err(unreadable(&path))?.is_dir() {
            find(&path, found)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == "json")
            && path.is_file()
        {
            found.push(path);
        }
    }
    Ok(())
}
