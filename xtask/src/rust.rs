//! Source files, and their tokens. Arguments of macros are tokens and no more, so what is looked
//! for everywhere is looked for in tokens.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use std::path::Path;

/// The files with this extension below a folder, sorted.
pub fn files(folder: &str, extension: &str) -> Result<Vec<String>, String> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let failed = |e: std::io::Error| format!("{folder} cannot be read: {e}");
        for entry in std::fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = format!("{folder}/{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                folders.push(path);
            } else if Path::new(&path).extension().is_some_and(|e| e == extension) {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Returns whether a file of `src/` is a module of tests, by its name.
pub fn is_test_file(path: &str) -> bool {
    path.ends_with("_tests.rs")
}

pub fn parse(path: &str, text: &str) -> Result<syn::File, String> {
    syn::parse_file(text).map_err(|e| {
        let at = e.span().start();
        format!("{path}:{}:{}: {e}", at.line, at.column + 1)
    })
}

/// The tokens of a file without its test modules.
pub fn tokens(mut file: syn::File) -> TokenStream {
    drop_tests(&mut file.items);
    file.into_token_stream()
}

fn drop_tests(items: &mut Vec<syn::Item>) {
    items.retain(|item| !matches!(item, syn::Item::Mod(item) if is_for_tests(&item.attrs)));
    for item in items {
        if let syn::Item::Mod(syn::ItemMod {
            content: Some((_, items)),
            ..
        }) = item
        {
            drop_tests(items);
        }
    }
}

/// `#[cfg(test)]` or `#[cfg(all(test, ...))]`.
pub fn is_for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = attribute.meta.to_token_stream().to_string();
        let text = text.replace(' ', "");
        text.starts_with("cfg(test") || text.starts_with("cfg(all(test")
    })
}

/// The names in each `Model: a, b` of these comments, each list on one line.
pub fn models_in(comments: &str) -> impl Iterator<Item = &str> {
    comments.split("Model: ").skip(1).flat_map(|rest| {
        let end = rest.find(|c: char| !(c.is_ascii_lowercase() || "_, ".contains(c)));
        let names = &rest[..end.unwrap_or(rest.len())];
        names.split([',', ' ']).filter(|name| !name.is_empty())
    })
}

/// The name, if it is one.
pub fn word(token: Option<&TokenTree>) -> Option<String> {
    match token {
        Some(TokenTree::Ident(word)) => Some(word.to_string()),
        _ => None,
    }
}

pub fn is_word(token: Option<&TokenTree>, name: &str) -> bool {
    matches!(token, Some(TokenTree::Ident(word)) if word == name)
}

pub fn is_sign(token: Option<&TokenTree>, sign: char) -> bool {
    matches!(token, Some(TokenTree::Punct(found)) if found.as_char() == sign)
}

/// Returns the tokens of the group, if it has one of these delimiters.
pub fn group(token: Option<&TokenTree>, delimiter: Delimiter) -> Option<Vec<TokenTree>> {
    match token {
        Some(TokenTree::Group(group)) if group.delimiter() == delimiter => {
            Some(group.stream().into_iter().collect())
        }
        _ => None,
    }
}

/// The line, from 1.
pub fn line(token: &TokenTree) -> usize {
    token.span().start().line
}

/// The lines of paths that begin here, and with one of these names in each place: `a::b`, and the
/// entries of `a::{b, c}`.
pub fn lines_of(tokens: &[TokenTree], path: &[&[&str]]) -> Vec<usize> {
    let [names, rest @ ..] = path else {
        return Vec::new();
    };
    if !word(tokens.first()).is_some_and(|name| names.contains(&&*name)) {
        return Vec::new();
    }
    if rest.is_empty() {
        return vec![line(&tokens[0])];
    }
    if !(is_sign(tokens.get(1), ':') && is_sign(tokens.get(2), ':')) {
        return Vec::new();
    }
    match group(tokens.get(3), Delimiter::Brace) {
        Some(entries) => entries
            .split(|token| is_sign(Some(token), ','))
            .flat_map(|entry| lines_of(entry, rest))
            .collect(),
        None => lines_of(&tokens[3..], rest),
    }
}
