//! Limits for numbers of a note: a damaged one must not make the reader compute nonsense, or read
//! without end.

use super::note::{LayoutError, Names};

/// The largest size or offset.
const LARGEST: u64 = 1 << 20;

/// The most items of a fixed number: of buckets, batches, pools in a chunk.
const MOST: u64 = 1 << 12;

/// The most different sizes of blocks.
const MOST_SIZES: usize = 1 << 10;

/// Returns the number of this name.
pub(super) fn checked(names: &Names, name: &str) -> Result<u64, LayoutError> {
    let (least, most) = limits(name);
    let number = names.number(name)?;
    if (least..=most).contains(&number) {
        Ok(number)
    } else {
        Err(senseless(names, name))
    }
}

/// Returns the least and the greatest number of this name.
fn limits(name: &str) -> (u64, u64) {
    match name {
        "type_info.magic_value" | "page.tag_value" | "slot.phase_mask" | "slot.live" => {
            (0, u64::MAX)
        }
        "count.strong_shift" | "count.weak_shift" => (0, 63),
        _ if name.starts_with("count.") => (0, u64::MAX),
        "registry.bucket_count" => (0, 64),
        "orphans.sealed_count" | "pools.chunk_len" | "batches.count" => (0, MOST),
        "chunk.size" | "pool.size" => (1, LARGEST),
        _ => (0, LARGEST),
    }
}

/// Checks the numbers that are about blocks: the bytes of a chunk and of its header, and the sizes of
/// blocks.
pub(super) fn check_blocks(
    names: &Names,
    header: u64,
    chunk: u64,
    sizes: &[u64],
) -> Result<(), LayoutError> {
    let fits = |&size: &u64| size > 0 && size <= chunk;
    if header >= chunk {
        return Err(senseless(names, "chunk.header"));
    }
    if sizes.len() > MOST_SIZES || !sizes.iter().all(fits) {
        return Err(senseless(names, "block.sizes"));
    }
    Ok(())
}

fn senseless(names: &Names, name: &str) -> LayoutError {
    LayoutError::Senseless {
        module: names.module.clone(),
        name: name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;

    /// Returns names with numbers that make sense, but for `name`, which has these numbers.
    fn names(name: &str, numbers: &[u64]) -> Names {
        let mut names = Names::default();
        let all = Layout::NAMES.iter().chain(&["block.sizes"]);
        names.numbers = all.map(|name| (String::from(*name), vec![8])).collect();
        names.numbers.insert("chunk.size".to_owned(), vec![1 << 16]);
        names.numbers.insert(name.to_owned(), numbers.to_vec());
        names
    }

    #[test]
    fn senseless_numbers_are_refused_and_masks_may_be_any() {
        assert!(Layout::new(&names("block.sizes", &[16, 32])).is_ok());
        for &name in Layout::NAMES {
            let layout = Layout::new(&names(name, &[u64::MAX]));
            let any = matches!(
                name,
                "type_info.magic_value" | "page.tag_value" | "slot.live"
            );
            if any
                || name.ends_with("_mask")
                || name.contains(".max_")
                || name == "count.strong_bias"
            {
                assert!(layout.is_ok(), "{name}");
            } else {
                let error = layout.unwrap_err().to_string();
                assert!(
                    error.contains(&format!("`{name}` makes no sense")),
                    "{error}"
                );
            }
        }
        for (name, numbers) in [
            ("chunk.size", &[0][..]),
            ("pool.size", &[0]),
            ("chunk.header", &[1 << 16]),
            ("block.sizes", &[16, 0]),
            ("block.sizes", &[1 << 17]),
            ("block.sizes", &[8; MOST_SIZES + 1]),
        ] {
            let layout = Layout::new(&names(name, numbers));
            assert!(
                matches!(layout, Err(LayoutError::Senseless { .. })),
                "{name}"
            );
        }
    }
}
