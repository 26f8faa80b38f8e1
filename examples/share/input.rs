//! Reads the documents.

use crate::error::Error;
use releasepool_examples_common::output::complain;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The document that is used if none is given: 500 of the 1,707 earthquakes that the U.S. Geological
/// Survey recorded in a week of 2018, in its own words, with line breaks added. Its data are in the
/// public domain; this came with the npm package `vega-datasets` 2.11.0.
const EARTHQUAKES: &str = include_str!("earthquakes.json");

/// The path that stands for standard input.
const STANDARD_INPUT: &str = "-";

const JSON: &[&str] = &["json"];
const JSON_LINES: &[&str] = &["jsonl", "ndjson"];

pub struct Document {
    pub name: String,
    /// How many lines of the file are before it. Each line of a file of JSON Lines is a document.
    pub lines_before: usize,
    pub text: String,
}

impl Document {
    /// Makes the document that a whole file is.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            lines_before: 0,
            text: text.into(),
        }
    }
}

/// Reads the documents at `paths`; without paths, returns the default one.
pub fn read(paths: &[PathBuf]) -> Result<Vec<Document>, Error> {
    if paths.is_empty() {
        return Ok(vec![Document::new("earthquakes.json", EARTHQUAKES)]);
    }
    let mut documents = Vec::new();
    for path in paths {
        if path.as_os_str() == STANDARD_INPUT {
            documents.push(load_standard_input()?);
        } else if is_directory(path)? {
            let mut found = Vec::new();
            find(path, &mut found)?;
            if found.is_empty() {
                return Err(Error::NoDocuments(path.clone()));
            }
            for path in &found {
                documents.extend(load(path)?);
            }
        } else {
            documents.extend(load(path)?);
        }
    }
    Ok(documents)
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Error + use<> {
    let name = path.display().to_string();
    move |source| Error::Unreadable { name, source }
}

fn is_directory(path: &Path) -> Result<bool, Error> {
    Ok(fs::metadata(path).map_err(unreadable(path))?.is_dir())
}

/// Finds the documents in `directory` and below, in the order of their names. Links to directories
/// are not followed, because they may form cycles. What could be read for ever is skipped.
fn find(directory: &Path, found: &mut Vec<PathBuf>) -> Result<(), Error> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory).map_err(unreadable(directory))? {
        entries.push(entry.map_err(unreadable(directory))?);
    }
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let mut kind = entry.file_type().map_err(unreadable(&path))?;
        if kind.is_dir() {
            find(&path, found)?;
        } else if has_extension(&path, JSON) || has_extension(&path, JSON_LINES) {
            if kind.is_symlink() {
                kind = fs::metadata(&path).map_err(unreadable(&path))?.file_type();
            }
            if kind.is_file() {
                found.push(path);
            } else if !kind.is_dir() {
                complain(&format!(
                    "share: {}: skipped, as it is no file",
                    path.display()
                ));
            }
        }
    }
    Ok(())
}

fn has_extension(path: &Path, extensions: &[&str]) -> bool {
    extensions
        .iter()
        .any(|&e| path.extension().is_some_and(|extension| extension == e))
}

fn load(path: &Path) -> Result<Vec<Document>, Error> {
    let bytes = fs::read(path).map_err(unreadable(path))?;
    let document = document(path.display().to_string(), bytes)?;
    Ok(match has_extension(path, JSON_LINES) {
        true => lines(&document),
        false => vec![document],
    })
}

fn load_standard_input() -> Result<Document, Error> {
    let name = "standard input";
    let mut bytes = Vec::new();
    let result = io::stdin().lock().read_to_end(&mut bytes);
    result.map_err(unreadable(Path::new(name)))?;
    document(name.to_owned(), bytes)
}

/// Makes a document of UTF-8 text, which may begin with a byte order mark.
fn document(name: String, bytes: Vec<u8>) -> Result<Document, Error> {
    let mut text = String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        Error::not_utf8(&name, before)
    })?;
    if text.starts_with('\u{feff}') {
        text.remove(0);
    }
    Ok(Document::new(name, text))
}

/// Returns the documents of a file of JSON Lines. Empty lines are none.
fn lines(file: &Document) -> Vec<Document> {
    let lines = file.text.lines().enumerate();
    lines
        .filter(|(_, line)| !line.trim_ascii().is_empty())
        .map(|(lines_before, line)| Document {
            name: file.name.clone(),
            lines_before,
            text: line.to_owned(),
        })
        .collect()
}
