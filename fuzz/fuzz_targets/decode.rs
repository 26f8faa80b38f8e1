//! From bytes to programs.

use arbitrary::{Arbitrary, Result, Unstructured};

/// As many steps as the bytes are enough for. A `Vec` would end wherever a bit says so:
/// half of all mutations would cut most of the program off.
pub fn all<'a, T: Arbitrary<'a>>(bytes: &mut Unstructured<'a>) -> Result<Vec<T>> {
    let mut steps = Vec::new();
    while !bytes.is_empty() {
        steps.push(bytes.arbitrary()?);
    }
    Ok(steps)
}
