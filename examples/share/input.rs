//! Reads the documents.

use crate::error::Error;
use std::env;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const EMBEDDED: &str = include_str!("scene.json");

pub struct Document {
    pub name: String,
    pub text: String,
}

pub struct Input {
    pub documents: Vec<Document>,
    /// Why the embedded document is used instead of the output of `cargo metadata`.
    pub instead_of_cargo: Option<String>,
}

/// Reads the documents at `paths`; without paths, takes the output of `cargo metadata`.
pub fn read(paths: &[PathBuf]) -> Result<Input, Error> {
    if paths.is_empty() {
        return Ok(describe_project());
    }
    let mut documents = Vec::new();
    for path in paths {
        if is_directory(path)? {
            let mut found = Vec::new();
            find(path, &mut found)?;
            if found.is_empty() {
                return Err(Error::NoDocuments(path.clone()));
            }
            for path in &found {
                documents.push(load(path)?);
            }
        } else {
            documents.push(load(path)?);
        }
    }
    Ok(Input {
        documents,
        instead_of_cargo: None,
    })
}

fn unreadable(path: &Path) -> impl FnOnce(io::Error) -> Error + use<> {
    let path = path.to_owned();
    move |source| Error::Unreadable { path, source }
}

fn is_directory(path: &Path) -> Result<bool, Error> {
    Ok(fs::metadata(path).map_err(unreadable(path))?.is_dir())
}

/// Finds the `*.json` files in `directory` and below, in the order of their names. Links to
/// directories are not followed, because they may form cycles.
fn find(directory: &Path, found: &mut Vec<PathBuf>) -> Result<(), Error> {
    let mut entries = Vec::new();
    for entry in fs::read_dir(directory).map_err(unreadable(directory))? {
        entries.push(entry.map_err(unreadable(directory))?);
    }
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        let kind = entry.file_type().map_err(unreadable(&path))?;
        if kind.is_dir() {
            find(&path, found)?;
        } else if path.extension().is_some_and(|e| e == "json")
            && (kind.is_file() || kind.is_symlink() && !is_directory(&path)?)
        {
            found.push(path);
        }
    }
    Ok(())
}

fn load(path: &Path) -> Result<Document, Error> {
    let bytes = fs::read(path).map_err(unreadable(path))?;
    let text = String::from_utf8(bytes).map_err(|error| Error::NotUtf8 {
        path: path.to_owned(),
        offset: error.utf8_error().valid_up_to(),
    })?;
    Ok(Document {
        name: path.display().to_string(),
        text,
    })
}

fn describe_project() -> Input {
    let (name, text, instead_of_cargo) = match cargo_metadata() {
        Ok(text) => ("cargo metadata", text, None),
        Err(reason) => ("embedded document", EMBEDDED.to_owned(), Some(reason)),
    };
    Input {
        documents: vec![Document {
            name: name.to_owned(),
            text,
        }],
        instead_of_cargo,
    }
}

/// Returns a description of this project and its dependencies. Offline and locked, so that cargo
/// neither waits for a network nor changes the project.
fn cargo_metadata() -> Result<String, String> {
    let about = cargo(&["-vV"])?;
    let host = about
        .lines()
        .find_map(|line| line.strip_prefix("host: "))
        .ok_or("cargo does not name its host")?;
    let text = cargo(&[
        "metadata",
        "--format-version",
        "1",
        "--offline",
        "--locked",
        "--filter-platform",
        host,
    ])?;
    // The output of a wrapper around cargo must not be reported as invalid JSON.
    if text.trim_start().starts_with('{') {
        Ok(text)
    } else {
        Err("cargo metadata gave no JSON".to_owned())
    }
}

fn cargo(arguments: &[&str]) -> Result<String, String> {
    // Set by `cargo run`.
    let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let shown = format!("{} {}", program.to_string_lossy(), arguments[0]);
    let output = Command::new(&program)
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{shown}: {error}"))?;
    if output.status.success() {
        return String::from_utf8(output.stdout).map_err(|error| format!("{shown}: {error}"));
    }
    let errors = String::from_utf8_lossy(&output.stderr);
    let first = errors.lines().find(|line| !line.trim().is_empty());
    Err(match first {
        Some(line) => format!("{shown}: {}", line.trim()),
        None => format!("{shown}: {}", output.status),
    })
}
