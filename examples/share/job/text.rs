//! Text of a document. Most of it is short, and is stored in the object itself: an allocation for
//! each would double the work and the memory.

use std::ops::Deref;
use std::str;

/// The longest text that needs no allocation, in bytes. A [`Text`] is as large as a `Vec`.
const SHORT: usize = 22;

pub enum Text {
    Short { length: u8, bytes: [u8; SHORT] },
    Long(Box<str>),
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        if text.len() > SHORT {
            return Self::Long(text.into());
        }
        let mut bytes = [0; SHORT];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        let length = text.len() as u8;
        Self::Short { length, bytes }
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Short { length, bytes } => {
                str::from_utf8(&bytes[..usize::from(*length)]).expect("it was made of a `str`")
            }
            Self::Long(text) => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::node::Node;
    use crate::job::world::ours::Ours;

    #[test]
    fn any_length_is_kept() {
        for length in 0..3 * SHORT {
            let text = "é".repeat(length / 2) + &"a".repeat(length % 2);
            assert_eq!(*Text::from(&*text), *text);
        }
    }

    #[test]
    fn a_node_is_as_large_as_a_vector() {
        assert_eq!(size_of::<Node<Ours>>(), size_of::<Vec<u8>>());
    }
}
