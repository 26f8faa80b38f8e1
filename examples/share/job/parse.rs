//! Parses text into a graph of counted objects, the way game code builds its scenes.
//!
//! Each object is made by `create`, which leaves it to a pool, and is retained by the container
//! that it belongs to. The pool is drained again and again, so that temporaries do not pile up. If
//! the text is invalid, what has been built is released.

use crate::job::keys::KnownKeys;
use crate::job::label::Label;
use crate::job::world::{Member, Node, Value, World};
use releasepool::{AutoreleasePool, Ref};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// How many values are made between two drains: so few that what is released is still in the
/// processor's caches.
const BATCH: usize = 32;

/// Parses `text` and returns the root, which is retained for the caller.
pub fn parse(world: &World, keys: &KnownKeys<'_>, text: &str) -> serde_json::Result<Value> {
    let mut graph = Graph {
        world,
        keys,
        pool: AutoreleasePool::new(),
        made: 0,
        items: Vec::new(),
        members: Vec::new(),
    };
    let mut json = serde_json::Deserializer::from_str(text);
    let root = graph.deserialize(&mut json)?;
    json.end().map(|()| root)
}

/// A graph that is being built.
struct Graph<'g> {
    world: &'g World,
    keys: &'g KnownKeys<'g>,
    pool: AutoreleasePool,
    /// How many values have been made since the last drain.
    made: usize,
    /// The contents of the containers that are being filled. A container is made when its contents
    /// are complete, and so of the right size.
    items: Vec<Value>,
    members: Vec<Member>,
}

impl Graph<'_> {
    fn drain_now_and_then(&mut self) {
        self.made += 1;
        if self.made % BATCH == 0 {
            self.pool.drain();
        }
    }
}

impl<'de> DeserializeSeed<'de> for &mut Graph<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Value, D::Error> {
        self.drain_now_and_then();
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for &mut Graph<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value as f64))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value as f64))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Number(value))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(self.world.create_text(&self.pool, text)))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Value, A::Error> {
        let begin = self.items.len();
        while let Some(item) = array.next_element_seed(&mut *self)? {
            self.items.push(item);
        }
        let items = Node::Array(self.items.drain(begin..).collect());
        Ok(Value::Node(self.world.create(&self.pool, items)))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut dict: A) -> Result<Value, A::Error> {
        let begin = self.members.len();
        while let Some(key) = dict.next_key_seed(Key(self))? {
            let value = dict.next_value_seed(&mut *self)?;
            self.members.push((key, value));
        }
        let members = Node::Dict(self.members.drain(begin..).collect());
        Ok(Value::Node(self.world.create(&self.pool, members)))
    }
}

/// Reads a key of a dictionary.
struct Key<'k, 'g>(&'k Graph<'g>);

impl<'de> DeserializeSeed<'de> for Key<'_, '_> {
    type Value = Ref<str>;

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<Ref<str>, D::Error> {
        json.deserialize_str(self)
    }
}

impl Visitor<'_> for Key<'_, '_> {
    type Value = Ref<str>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<Ref<str>, E> {
        let Graph {
            world, keys, pool, ..
        } = self.0;
        if !world.makes_temporaries() {
            return Ok(keys.intern(name));
        }
        // A temporary string object to look the key up, as code ported from Cocos2d-x makes it.
        Ok(keys.intern(&world.temporary(pool, Label::new(name)).text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::digest::Digest;
    use crate::job::keys::Keys;

    /// Compares the graph with the text's digest and `serde_json`'s tree; returns the digest.
    fn digest_of(text: &str) -> Digest {
        let world = World::default();
        let shared = Keys::default();
        let root = parse(&world, &KnownKeys::new(&world, &shared), text).unwrap();
        let digest = Digest::of(&root);
        assert_eq!(Digest::of_text(text).unwrap(), digest);
        let tree = serde_json::from_str(text).unwrap();
        assert!(is_equal(&root, &tree), "{text}");
        digest
    }

    fn is_equal(ours: &Value, tree: &serde_json::Value) -> bool {
        match ours {
            Value::Null => tree.is_null(),
            Value::Bool(value) => tree == value,
            Value::Number(value) => tree.as_f64() == Some(*value),
            Value::Text(text) => tree == &**text,
            Value::Node(node) => match &**node {
                Node::Array(items) => tree.as_array().is_some_and(|tree| {
                    items.len() == tree.len()
                        && items
                            .iter()
                            .zip(tree)
                            .all(|(item, tree)| is_equal(item, tree))
                }),
                Node::Dict(members) => members
                    .iter()
                    .all(|(key, value)| is_equal(value, &tree[&**key])),
            },
        }
    }

    #[test]
    fn values_of_all_kinds_are_parsed() {
        for text in [
            " [ [ ] , { \"\" : { } } , false ]\r\n",
            "7",
            "-0.0",
            "\"x\"",
            "null ",
            "[1.5e-3,\"\\ud83d\\ude00\",{\"k\":[{}]}]",
        ] {
            digest_of(text);
        }
        let text =
            r#"{"a": [null, true, -1, 18446744073709551615, 1e300, "\u00e9\n", [], {}], "b": ""}"#;
        let digest = digest_of(text);
        assert_eq!((digest.scalars, digest.texts), (5, 2));
        assert_eq!((digest.arrays, digest.dicts, digest.entries), (2, 2, 2));
        assert_eq!(digest_of(&text.replace('a', "\\u0061")), digest);
        assert_eq!(digest_of("7").values(), 1);
    }

    #[test]
    fn containers_may_be_large() {
        let items: Vec<_> = (0..3_000).map(|n| format!("\"{n}\"")).collect();
        let array = format!("[{}]", items.join(","));
        assert_eq!(digest_of(&array).texts, 3_000);
        let members: Vec<_> = items.iter().map(|key| format!("{key}:[{key}]")).collect();
        let dict = digest_of(&format!("{{{}}}", members.join(",")));
        assert_eq!(dict.entries, 3_000);
    }

    #[test]
    fn what_was_built_of_an_invalid_text_is_released() {
        let world = World::default();
        let shared = Keys::default();
        let keys = KnownKeys::new(&world, &shared);
        let key = keys.intern("key");
        for text in ["[\"a\", {\"key\": 1", "{\"key\": [1, 2,, 3]}", "[1] 2"] {
            assert!(parse(&world, &keys, text).is_err(), "{text}");
        }
        // Held here, in the table of all threads, and in that of this thread.
        assert_eq!(Ref::strong_count(&key), 3);
    }
}
