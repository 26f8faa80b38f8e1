//! Parses text into a graph of counted objects, the way game code builds its scenes.
//!
//! Each object is made by `create`, which leaves it to a pool, and is retained by the container
//! that it belongs to. The pool is closed again and again, so that temporaries do not pile up. If
//! the text is invalid, what has been built is released.
//!
//! Nothing here recurses, so a document may be nested as deep as memory lasts.

use crate::job::keys::KnownKeys;
use crate::job::tokens::{Invalid, Scalar, Token, Tokens};
use crate::job::world::{Member, Node, Value, World};
use releasepool::{AutoreleasePool, Ref};
use releasepool_examples_common::label::Label;

/// How many tokens share a pool: so few that what is released is still in the processor's caches.
const BATCH: usize = 50;

/// Parses `text` and returns the root, which is retained for the caller.
pub fn parse(world: &World, keys: &KnownKeys<'_>, text: &str) -> Result<Value, Invalid> {
    let mut tokens = Tokens::new(text);
    let mut graph = Graph {
        world,
        keys,
        open: Vec::new(),
        items: Vec::new(),
        members: Vec::new(),
    };
    'document: loop {
        let pool = AutoreleasePool::new();
        for _ in 0..BATCH {
            match tokens.next()? {
                Some(token) => graph.add(&pool, token),
                None => break 'document,
            }
        }
    }
    Ok(graph.items.pop().expect("a document has a value"))
}

/// A graph that is being built.
struct Graph<'p, 'w> {
    world: &'p World,
    keys: &'p KnownKeys<'w>,
    /// The containers that are being filled, innermost last.
    open: Vec<Open>,
    /// The contents of all these. A container is made when its contents are complete, and so of the
    /// right size.
    items: Vec<Value>,
    members: Vec<Member>,
}

/// A container that is being filled, and where its contents begin.
enum Open {
    Array(usize),
    Dict {
        begin: usize,
        /// The key of the next value.
        key: Option<Ref<str>>,
    },
}

impl Graph<'_, '_> {
    fn add(&mut self, pool: &AutoreleasePool, token: Token<'_>) {
        let create = |node| Value::Node(self.world.create(pool, node));
        let value = match token {
            Token::Scalar(Scalar::Null) => Value::Null,
            Token::Scalar(Scalar::Bool(value)) => Value::Bool(value),
            Token::Scalar(Scalar::Number(value)) => Value::Number(value),
            Token::Scalar(Scalar::Text(text)) => Value::Text(self.world.create_text(pool, &text)),
            Token::ArrayBegins => return self.open.push(Open::Array(self.items.len())),
            Token::DictBegins => {
                let begin = self.members.len();
                return self.open.push(Open::Dict { begin, key: None });
            }
            Token::Key(name) => {
                // A temporary string object to look the key up, as code ported from Cocos2d-x
                // makes it.
                let found = match self.world.makes_temporaries() {
                    true => {
                        let label = self.world.temporary(pool, Label::new(&*name));
                        self.keys.intern(&label.text)
                    }
                    false => self.keys.intern(&name),
                };
                if let Some(Open::Dict { key, .. }) = self.open.last_mut() {
                    *key = Some(found);
                }
                return;
            }
            Token::End => match self.open.pop().expect("what ends has begun") {
                Open::Array(begin) => create(Node::Array(self.items.drain(begin..).collect())),
                Open::Dict { begin, .. } => {
                    create(Node::Dict(self.members.drain(begin..).collect()))
                }
            },
        };
        match self.open.last_mut() {
            Some(Open::Dict { key, .. }) => {
                let key = key.take().expect("a key comes before its value");
                self.members.push((key, value));
            }
            _ => self.items.push(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::digest::Digest;
    use crate::job::keys::Keys;

    /// Checks the graph's digest, which is that of the text, and what `serde_json` makes of the text.
    fn digest_of(text: &str) -> Digest {
        let world = World::default();
        let shared = Keys::default();
        let keys = KnownKeys::new(&world, &shared);
        let fault = |invalid: Invalid| invalid.message;
        let root = parse(&world, &keys, text).map_err(fault).unwrap();
        let digest = Digest::of(&root);
        assert_eq!(Digest::of_text(text).map_err(fault), Ok(digest));
        if let Ok(tree) = serde_json::from_str(text) {
            assert!(is_equal(&root, &tree), "{text}");
        }
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
    fn containers_may_be_large_and_deep() {
        let items: Vec<_> = (0..3_000).map(|n| format!("\"{n}\"")).collect();
        let array = format!("[{}]", items.join(","));
        assert_eq!(digest_of(&array).texts, 3_000);
        let members: Vec<_> = items.iter().map(|key| format!("{key}:[{key}]")).collect();
        let dict = digest_of(&format!("{{{}}}", members.join(",")));
        assert_eq!(dict.entries, 3_000);
        for depth in [120, 300_000] {
            let deep = "[".repeat(depth) + &"]".repeat(depth);
            assert_eq!(digest_of(&deep).arrays, depth as u64);
            let deep = "{\"a\":[0,".repeat(depth / 2) + "[]" + &"]}".repeat(depth / 2);
            assert_eq!(digest_of(&deep).dicts, depth as u64 / 2);
        }
    }
}
