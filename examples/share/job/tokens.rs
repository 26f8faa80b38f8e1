//! Splits JSON text into tokens, however deep it is nested.
//!
//! Strings, numbers and words are read by `serde_json`. Its parser of whole documents recurses, and
//! so refuses those that are nested deeper than 128.

use memchr::memchr2;
use serde_json::{Deserializer, Value};
use std::borrow::Cow;

/// A fault in a document.
#[derive(Debug)]
pub struct Invalid {
    /// Its offset in the document, in bytes.
    pub at: usize,
    pub message: String,
}

impl Invalid {
    /// Makes it of the error that `serde_json` found in `part`, which begins at a byte of the document.
    pub fn of_part(part: &str, begin: usize, error: &serde_json::Error) -> Self {
        let message = error.to_string();
        let position = format!(" at line {} column {}", error.line(), error.column());
        let lines_before = part.split_inclusive('\n').take(error.line() - 1);
        let line: usize = lines_before.map(str::len).sum();
        Self {
            // Column 0 is the end of the line before.
            at: begin + (line + error.column()).saturating_sub(1),
            message: message
                .strip_suffix(&position)
                .unwrap_or(&message)
                .to_owned(),
        }
    }
}

pub enum Token<'t> {
    Scalar(Scalar<'t>),
    /// The key of the value that follows.
    Key(Cow<'t, str>),
    ArrayBegins,
    DictBegins,
    /// The end of the innermost array or dictionary.
    End,
}

pub enum Scalar<'t> {
    Null,
    Bool(bool),
    Number(f64),
    Text(Cow<'t, str>),
}

pub struct Tokens<'t> {
    text: &'t str,
    /// How much of the text has been read.
    at: usize,
    /// The arrays and dictionaries that have not ended, innermost last.
    open: Vec<Container>,
    expected: Expected,
}

#[derive(Clone, Copy, PartialEq)]
enum Container {
    Array,
    Dict,
}

/// What may come next.
#[derive(Clone, Copy)]
enum Expected {
    Value,
    /// The first value of an array, or its end.
    Item,
    /// The first key of a dictionary, or its end.
    Key,
    /// What follows a value.
    Rest,
}

impl<'t> Tokens<'t> {
    pub fn new(text: &'t str) -> Self {
        Self {
            text,
            at: 0,
            open: Vec::new(),
            expected: Expected::Value,
        }
    }

    /// Returns the next token, or `None` at the end of the document.
    #[inline(always)]
    pub fn next(&mut self) -> Result<Option<Token<'t>>, Invalid> {
        let next = self.peek();
        let token = match (self.expected, self.open.last(), next) {
            (Expected::Item, _, Some(b']'))
            | (Expected::Key, _, Some(b'}'))
            | (Expected::Rest, Some(Container::Array), Some(b']'))
            | (Expected::Rest, Some(Container::Dict), Some(b'}')) => self.end(),
            (Expected::Value | Expected::Item, ..) => self.value(next)?,
            (Expected::Key, ..) => self.key()?,
            (Expected::Rest, Some(Container::Array), Some(b',')) => {
                self.at += 1;
                let next = self.peek();
                self.value(next)?
            }
            (Expected::Rest, Some(Container::Dict), Some(b',')) => {
                self.at += 1;
                self.key()?
            }
            (Expected::Rest, None, None) => return Ok(None),
            (Expected::Rest, None, Some(_)) => return Err(self.fault("trailing characters")),
            (Expected::Rest, Some(Container::Array), _) => {
                return Err(self.fault("expected `,` or `]`"));
            }
            (Expected::Rest, Some(Container::Dict), _) => {
                return Err(self.fault("expected `,` or `}`"));
            }
        };
        Ok(Some(token))
    }

    /// Skips white space.
    #[inline(always)]
    fn peek(&mut self) -> Option<u8> {
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\n' | b'\t' | b'\r');
        let rest = &self.text.as_bytes()[self.at..];
        self.at += rest.iter().take_while(|byte| is_space(byte)).count();
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline(always)]
    fn value(&mut self, next: Option<u8>) -> Result<Token<'t>, Invalid> {
        let (container, expected, token) = match next {
            Some(b'[') => (Container::Array, Expected::Item, Token::ArrayBegins),
            Some(b'{') => (Container::Dict, Expected::Key, Token::DictBegins),
            _ => {
                self.expected = Expected::Rest;
                return self.scalar().map(Token::Scalar);
            }
        };
        self.at += 1;
        self.open.push(container);
        self.expected = expected;
        Ok(token)
    }

    #[inline(always)]
    fn key(&mut self) -> Result<Token<'t>, Invalid> {
        if self.peek() != Some(b'"') {
            return Err(self.fault("expected a key, which is a string"));
        }
        let Scalar::Text(key) = self.scalar()? else {
            unreachable!("it begins with a quote");
        };
        if self.peek() != Some(b':') {
            return Err(self.fault("expected `:`"));
        }
        self.at += 1;
        self.expected = Expected::Value;
        Ok(Token::Key(key))
    }

    fn end(&mut self) -> Token<'t> {
        self.at += 1;
        self.open.pop();
        self.expected = Expected::Rest;
        Token::End
    }

    fn scalar(&mut self) -> Result<Scalar<'t>, Invalid> {
        let rest = &self.text[self.at..];
        // Most scalars are strings without escapes.
        if let Some(text) = rest.strip_prefix('"') {
            if let Some(text) = without_escapes(text) {
                self.at += text.len() + 2;
                return Ok(Scalar::Text(Cow::Borrowed(text)));
            }
        }
        let mut source = Deserializer::from_str(rest).into_iter();
        let scalar = match source.next() {
            Some(Ok(Value::Null)) => Scalar::Null,
            Some(Ok(Value::Bool(value))) => Scalar::Bool(value),
            Some(Ok(Value::Number(value))) => Scalar::Number(value.as_f64().unwrap_or_default()),
            Some(Ok(Value::String(text))) => Scalar::Text(Cow::Owned(text)),
            Some(Ok(_)) => unreachable!("`value` reads arrays and dictionaries"),
            Some(Err(error)) => return Err(Invalid::of_part(rest, self.at, &error)),
            None => return Err(self.fault("a value is missing")),
        };
        self.at += source.byte_offset();
        Ok(scalar)
    }

    fn fault(&self, message: &str) -> Invalid {
        Invalid {
            at: self.at,
            message: match self.text.len() {
                len if len == self.at => format!("{message}, not the end of the document"),
                _ => message.to_owned(),
            },
        }
    }
}

/// Returns the string that ends with the next quote, unless something in it needs a parser.
fn without_escapes(text: &str) -> Option<&str> {
    let end = memchr2(b'"', b'\\', text.as_bytes())?;
    let string = &text[..end];
    let has_controls = string.bytes().fold(false, |has, byte| has | (byte < b' '));
    (text.as_bytes()[end] == b'"' && !has_controls).then_some(string)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens_of(text: &str) -> Result<usize, Invalid> {
        let mut tokens = Tokens::new(text);
        let mut count = 0;
        while tokens.next()?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    // That what it accepts is read alike is a test of `parse`.
    #[test]
    fn what_serde_json_refuses_is_refused() {
        let of_ascii = r#" /[/[1/[1,/[1,]/[,1]/[1 2]/]/{/{"a"/{"a":/{"a":1/{"a":1,/{"a":1,}/{,}/{1:2}/{"a" 1}
            /{"a":1]/[1}/1 2/[] []/01/1x/truefalse/tru/"/"\x"/"\ud800"/+1/1"a"/[1"a"]/{"a":1"b":2}/nul/'a'
            /[1;2]/1e999"#;
        for text in of_ascii.split('/').chain(["", "\u{a0}1"]) {
            assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
            assert!(tokens_of(text).is_err(), "{text}");
        }
    }
}
