//! Parses text into a graph of counted objects, the way game code builds its scenes.
//!
//! Each object is made by `create`, which leaves it to a pool, and is retained by the container
//! that it belongs to. While a container is filled it has pools of its own, so that temporaries do
//! not pile up. If the text is invalid, the pools release what has been built.

use crate::job::keys::KnownKeys;
use crate::job::node::{Key, Member, Node, Value};
use crate::job::world::World;
use releasepool_examples_common::label::Label;
use serde_core::Deserializer;
use serde_core::de::{DeserializeSeed, Error, MapAccess, SeqAccess, Visitor};
use std::cell::RefCell;
use std::fmt;

/// How many items of a container share a pool.
const BATCH: usize = 1_000;

/// Parses `text` and returns the root. If that is an object, it is retained for the caller, and `pool`
/// owns it, too.
pub fn parse<'w, W: World>(
    world: &'w W,
    keys: &'w KnownKeys<'w, W>,
    pool: &W::Pool<'w>,
    text: &str,
) -> Result<Value<W>, serde_json::Error> {
    let mut source = serde_json::Deserializer::from_str(text);
    let parser = Parser {
        world,
        keys,
        pool,
        unfinished: &Unfinished::default(),
    };
    let root = parser.deserialize(&mut source)?;
    source.end()?;
    Ok(root)
}

/// Parses a value, which `pool` will own if it is an object.
struct Parser<'p, 'w, W: World> {
    world: &'w W,
    keys: &'w KnownKeys<'w, W>,
    pool: &'p W::Pool<'w>,
    unfinished: &'p Unfinished<W>,
}

/// The contents of all containers that are being filled, innermost last. A container is made when
/// its contents are complete, and so of the right size.
struct Unfinished<W: World> {
    items: RefCell<Vec<Value<W>>>,
    members: RefCell<Vec<Member<W>>>,
}

impl<W: World> Default for Unfinished<W> {
    fn default() -> Self {
        Self {
            items: RefCell::default(),
            members: RefCell::default(),
        }
    }
}

impl<'w, W: World> Parser<'_, 'w, W> {
    fn create<E>(self, node: Node<W>) -> Result<Value<W>, E> {
        Ok(Value::Node(self.world.create(self.pool, node)))
    }

    /// Returns a parser for the contents of a container that has opened `pool`.
    fn within<'p>(&'p self, pool: &'p W::Pool<'w>) -> Parser<'p, 'w, W> {
        Parser {
            world: self.world,
            keys: self.keys,
            pool,
            unfinished: self.unfinished,
        }
    }
}

impl<'de, W: World> DeserializeSeed<'de> for Parser<'_, '_, W> {
    type Value = Value<W>;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Self::Value, D::Error> {
        source.deserialize_any(self)
    }
}

impl<'de, W: World> Visitor<'de> for Parser<'_, '_, W> {
    type Value = Value<W>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Self::Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Self::Value, E> {
        Ok(Value::Int(value))
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Self::Value, E> {
        Ok(Value::UInt(value))
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Self::Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        self.create(Node::Text(text.into()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut source: A) -> Result<Self::Value, A::Error> {
        let items = &self.unfinished.items;
        let start = items.borrow().len();
        'all: loop {
            let pool = self.world.pool();
            for _ in 0..BATCH {
                let Some(item) = source.next_element_seed(self.within(&pool))? else {
                    break 'all;
                };
                items.borrow_mut().push(item);
            }
        }
        let items = items.borrow_mut().split_off(start);
        self.create(Node::Array(items.into()))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut source: A) -> Result<Self::Value, A::Error> {
        let members = &self.unfinished.members;
        let start = members.borrow().len();
        'all: loop {
            let pool = self.world.pool();
            for _ in 0..BATCH {
                let Some(key) = source.next_key_seed(Name(self.within(&pool)))? else {
                    break 'all;
                };
                let value = source.next_value_seed(self.within(&pool))?;
                members.borrow_mut().push((key, value));
            }
        }
        let members = members.borrow_mut().split_off(start);
        self.create(Node::Dict(members.into()))
    }
}

/// Parses a key of a dictionary.
struct Name<'p, 'w, W: World>(Parser<'p, 'w, W>);

impl<'de, W: World> DeserializeSeed<'de> for Name<'_, '_, W> {
    type Value = W::Counted<Key>;

    fn deserialize<D: Deserializer<'de>>(self, source: D) -> Result<Self::Value, D::Error> {
        source.deserialize_str(self)
    }
}

impl<'de, W: World> Visitor<'de> for Name<'_, '_, W> {
    type Value = W::Counted<Key>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    /// Makes a temporary string object to look the key up, as code ported from Cocos2d-x does.
    fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
        let Parser {
            world, keys, pool, ..
        } = self.0;
        Ok(world.temporary(pool, Label::new(text), |label| keys.intern(&label.text)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::digest::Digest;
    use crate::job::keys::Keys;
    use crate::job::world::ours::{Memory, Ours};
    use crate::others::locked::Locked;
    use crate::others::plain::Plain;

    fn digest<W: World>(world: &W, text: &str) -> Result<Digest, String> {
        let shared = Keys::new();
        let keys = KnownKeys::new(world, &shared);
        let pool = world.pool();
        let root = parse(world, &keys, &pool, text).map_err(|error| error.to_string())?;
        drop(pool);
        Ok(Digest::of(&root))
    }

    /// Returns the digest, which is the same in all worlds.
    fn digest_of(text: &str) -> Result<Digest, String> {
        let expected = digest(&Plain::default(), text);
        for memory in [Memory::Blocks, Memory::Global] {
            assert_eq!(digest(&Ours::new(memory), text), expected);
        }
        assert_eq!(digest(&Locked::new(&Default::default()), text), expected);
        expected
    }

    #[test]
    fn values_of_all_kinds_are_parsed() {
        let text =
            r#"{"a": [null, true, -1, 18446744073709551615, 1e300, "\u00e9\n", [], {}], "b": ""}"#;
        let digest = digest_of(text).unwrap();
        assert_eq!((digest.scalars, digest.texts), (5, 2));
        assert_eq!((digest.arrays, digest.dicts, digest.entries), (2, 2, 2));
        let escaped = digest_of(&text.replace('a', "\\u0061")).unwrap();
        assert_eq!(escaped, digest);
        assert_eq!(digest_of("7").unwrap().values(), 1);
    }

    #[test]
    fn containers_may_be_large_and_deep() {
        let items: Vec<_> = (0..3 * BATCH).map(|n| format!("\"{n}\"")).collect();
        let array = format!("[{}]", items.join(","));
        assert_eq!(digest_of(&array).unwrap().texts, 3 * BATCH as u64);
        let members: Vec<_> = items.iter().map(|key| format!("{key}:[{key}]")).collect();
        let dict = digest_of(&format!("{{{}}}", members.join(","))).unwrap();
        assert_eq!(dict.entries, 3 * BATCH as u64);
        let deep = "[".repeat(120) + &"]".repeat(120);
        assert_eq!(digest_of(&deep).unwrap().arrays, 120);
    }

    #[test]
    fn an_error_has_a_position() {
        let error = digest_of("{\"a\": [{\"b\": \"c\"},\n 1,, 2]}").unwrap_err();
        assert!(error.contains("line 2 column 4"), "{error}");
    }
}
