//! The page `docs/FROM_ARC.md` has a row for every stable method and implementation of `Arc` and
//! `Weak`: those of Rust 1.95 are listed here.

const PAGE: &str = include_str!("../../../docs/FROM_ARC.md");

const METHODS: &str = "\
    new, new_cyclic, new_uninit, new_zeroed, new_uninit_slice, new_zeroed_slice, assume_init, \
    pin, try_unwrap, into_inner, unwrap_or_clone, from_raw, into_raw, increment_strong_count, \
    decrement_strong_count, as_ptr, downgrade, strong_count, weak_count, ptr_eq, get_mut, \
    make_mut, downcast, Weak::new, Weak::upgrade, Weak::strong_count, Weak::weak_count, \
    Weak::ptr_eq, Weak::as_ptr, Weak::into_raw, Weak::from_raw";

const IMPLEMENTATIONS: &str = "\
    Send, Sync, Unpin, UnwindSafe, RefUnwindSafe, Clone, Drop, Deref, AsRef<T>, Borrow<T>, \
    Debug, Display, Pointer, Error, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Pin<Arc<T>>, \
    From<T>, From<Box<T>>, From<Vec<T>>, From<[T; N]>, From<&[T]>, From<&mut [T]>, From<&str>, \
    From<&mut str>, From<String>, From<&CStr>, From<&mut CStr>, From<CString>, From<&OsStr>, \
    From<&mut OsStr>, From<OsString>, From<&Path>, From<&mut Path>, From<PathBuf>, \
    From<Cow<B>>, From<Arc<str>>, From<Arc<W>>, TryFrom<Arc<[T]>>, FromIterator<T>, Read, \
    Write, Seek, AsFd, AsRawFd, AsHandle, AsSocket";

/// Returns what is between backticks in the first cells of all rows.
fn rows() -> Vec<&'static str> {
    let cells = PAGE.lines().filter_map(|line| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let (first, verdict) = (cells.next()?, cells.next()?);
        assert!(
            ["there", "differs", "impossible", "here"].contains(&verdict),
            "{first}: {verdict}"
        );
        Some(first)
    });
    cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .collect()
}

#[test]
fn every_method_and_implementation_has_a_row() {
    let rows = rows();
    let methods = || METHODS.split(", ");
    for name in methods().chain(IMPLEMENTATIONS.split(", ")) {
        assert!(
            rows.contains(&name),
            "docs/FROM_ARC.md has no row for {name}"
        );
    }
    for name in methods() {
        let n = rows.iter().filter(|row| **row == name).count();
        assert_eq!(n, 1, "docs/FROM_ARC.md has {n} rows for {name}");
    }
}
