//! A summary of a graph, which the UI thread computes by walking it.

use crate::job::tokens::{Invalid, Scalar, Token, Tokens};
use crate::job::world::{Member, Node, Value};
use std::slice;

/// Counts of all values, with a sum and a hash of their contents. Equal graphs have equal digests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Digest {
    pub scalars: u64,
    pub texts: u64,
    pub arrays: u64,
    pub dicts: u64,
    pub entries: u64,
    /// The bits of the sum of all scalars, added in the order of the document. Bits are comparable
    /// even if the sum is not a number.
    sum: u64,
    /// The hash of all strings and keys, in the order of the document.
    hash: u64,
}

impl Digest {
    pub fn of(root: &Value) -> Self {
        let mut walk = Walk::default();
        walk.all(root);
        walk.finish()
    }

    /// Returns the digest of the graph that the text describes, without making one.
    pub fn of_text(text: &str) -> Result<Self, Invalid> {
        let mut walk = Walk::default();
        let mut tokens = Tokens::new(text);
        while let Some(token) = tokens.next()? {
            walk.token(token);
        }
        Ok(walk.finish())
    }

    pub fn values(&self) -> u64 {
        self.scalars + self.texts + self.arrays + self.dicts
    }
}

/// The contents of a container that have not been walked yet.
enum Rest<'g> {
    Items(slice::Iter<'g, Value>),
    Members(slice::Iter<'g, Member>),
}

/// A digest that is being computed.
#[derive(Default)]
pub struct Walk {
    pub digest: Digest,
    sum: f64,
    hash: u64,
}

impl Walk {
    pub fn finish(self) -> Digest {
        Digest {
            sum: self.sum.to_bits(),
            hash: self.hash,
            ..self.digest
        }
    }

    fn token(&mut self, token: Token<'_>) {
        match token {
            Token::Scalar(Scalar::Null) => self.scalar(0.0),
            Token::Scalar(Scalar::Bool(value)) => self.scalar(f64::from(u8::from(value))),
            Token::Scalar(Scalar::Number(value)) => self.scalar(value),
            Token::Scalar(Scalar::Text(text)) => self.text(&text),
            Token::Key(key) => {
                self.digest.entries += 1;
                self.key(&key);
            }
            Token::ArrayBegins => self.digest.arrays += 1,
            Token::DictBegins => self.digest.dicts += 1,
            Token::End => {}
        }
    }

    fn all(&mut self, root: &Value) {
        // The containers that the walk is in, innermost last, as iterators over their other values.
        let mut open = Vec::from_iter(self.value(root));
        while let Some(innermost) = open.last_mut() {
            let next = match innermost {
                Rest::Items(items) => items.next(),
                Rest::Members(members) => members.next().map(|(key, value)| {
                    self.key(key);
                    value
                }),
            };
            match next {
                Some(value) => open.extend(self.value(value)),
                None => drop(open.pop()),
            }
        }
    }

    /// Adds a value, and returns the contents of a container.
    fn value<'g>(&mut self, value: &'g Value) -> Option<Rest<'g>> {
        match value {
            Value::Null => self.scalar(0.0),
            Value::Bool(value) => self.scalar(f64::from(u8::from(*value))),
            Value::Number(value) => self.scalar(*value),
            Value::Text(text) => self.text(text),
            Value::Node(node) => return Some(self.node(node)),
        }
        None
    }

    fn node<'g>(&mut self, node: &'g Node) -> Rest<'g> {
        match node {
            Node::Array(items) => {
                self.digest.arrays += 1;
                Rest::Items(items.iter())
            }
            Node::Dict(entries) => {
                self.digest.dicts += 1;
                self.digest.entries += entries.len() as u64;
                Rest::Members(entries.iter())
            }
        }
    }

    pub fn scalar(&mut self, value: f64) {
        self.digest.scalars += 1;
        self.sum += value;
    }

    pub fn text(&mut self, text: &str) {
        self.digest.texts += 1;
        self.key(text);
    }

    pub fn key(&mut self, text: &str) {
        // FNV-1a, eight bytes at a time.
        let mut hash = self.hash ^ text.len() as u64;
        for chunk in text.as_bytes().chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x0000_0100_0000_01b3);
            hash ^= hash >> 29;
        }
        self.hash = hash;
    }
}
