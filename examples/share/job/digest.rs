//! A summary of a graph, which the UI thread computes by walking it.

use crate::job::world::{Node, Value};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

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
        let mut digest = Self::default();
        digest.value(root);
        digest
    }

    /// Returns the digest of the tree.
    pub fn of_tree(root: &serde_json::Value) -> Self {
        let mut digest = Self::default();
        digest.tree(root);
        digest
    }

    /// Returns the digest of the graph that the text describes, without making one.
    pub fn of_text(text: &str) -> serde_json::Result<Self> {
        let mut digest = Self::default();
        let mut json = serde_json::Deserializer::from_str(text);
        digest.deserialize(&mut json)?;
        json.end().map(|()| digest)
    }

    pub fn values(&self) -> u64 {
        self.scalars + self.texts + self.arrays + self.dicts
    }
}

/// Adds what a walk finds. Walks recurse as deep as the document: serde_json allows 127 levels.
impl Digest {
    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.scalar(0.0),
            Value::Bool(value) => self.scalar(f64::from(*value)),
            Value::Number(value) => self.scalar(*value),
            Value::Text(text) => self.text(text),
            Value::Node(node) => match &**node {
                Node::Array(items) => {
                    self.arrays += 1;
                    items.iter().for_each(|item| self.value(item));
                }
                Node::Dict(entries) => {
                    self.dicts += 1;
                    for (key, value) in entries {
                        self.entry(key);
                        self.value(value);
                    }
                }
            },
        }
    }

    fn tree(&mut self, value: &serde_json::Value) {
        use serde_json::Value;
        match value {
            Value::Null => self.scalar(0.0),
            Value::Bool(value) => self.scalar(f64::from(*value)),
            Value::Number(value) => self.scalar(value.as_f64().unwrap_or_default()),
            Value::String(text) => self.text(text),
            Value::Array(items) => {
                self.arrays += 1;
                items.iter().for_each(|item| self.tree(item));
            }
            Value::Object(entries) => {
                self.dicts += 1;
                for (key, value) in entries {
                    self.entry(key);
                    self.tree(value);
                }
            }
        }
    }

    fn scalar(&mut self, value: f64) {
        self.scalars += 1;
        self.sum = (f64::from_bits(self.sum) + value).to_bits();
    }

    fn text(&mut self, text: &str) {
        self.texts += 1;
        self.hash(text);
    }

    fn entry(&mut self, key: &str) {
        self.entries += 1;
        self.hash(key);
    }

    fn hash(&mut self, text: &str) {
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

impl<'de> DeserializeSeed<'de> for &mut Digest {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Digest {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<(), E> {
        self.visit_f64(0.0)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<(), E> {
        self.visit_f64(f64::from(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<(), E> {
        self.visit_f64(value as f64)
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<(), E> {
        self.visit_f64(value as f64)
    }

    fn visit_f64<E>(self, value: f64) -> Result<(), E> {
        self.scalar(value);
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        self.text(text);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
        self.arrays += 1;
        while array.next_element_seed(&mut *self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut dict: A) -> Result<(), A::Error> {
        self.dicts += 1;
        while let Some(key) = dict.next_key::<String>()? {
            self.entry(&key);
            dict.next_value_seed(&mut *self)?;
        }
        Ok(())
    }
}
