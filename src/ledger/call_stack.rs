//! The call stack: frames, the names of functions, and the user's function that made a call.

use crate::sync::catch_unwind;
use dashmap::DashMap;
use std::ffi::c_void;
use std::sync::LazyLock;

/// The greatest number of frames that are recorded, or searched.
const DEPTH: usize = 48;

/// Returns whether the file is of the standard library, which calls this crate for the user, as
/// `collect()` does.
pub(super) fn is_std_file(file: &str) -> bool {
    // The path is `/rustc/HASH/library/core/...`, or leads to the sources in a toolchain.
    file.starts_with("/rustc/") || file.contains("/lib/rustlib/src/rust/library/")
}

/// Returns whether a file is a source of this crate, or of `backtrace`.
fn is_own_file(file: &str) -> bool {
    const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/");
    file.starts_with(SOURCES) || file.contains("/backtrace-0.")
}

/// Calls `f` with the addresses of the calling functions, innermost first, until it finds something.
fn find<R>(mut f: impl FnMut(usize) -> Option<R>) -> Option<R> {
    let (mut found, mut left) = (None, DEPTH);
    if !cfg!(miri) {
        backtrace::trace(|frame| {
            found = f(frame.ip().addr());
            left -= 1;
            found.is_none() && left != 0
        });
    }
    found
}

/// Returns the addresses of the calling functions, innermost first.
pub(crate) fn capture() -> Box<[usize]> {
    let mut frames = Vec::with_capacity(DEPTH);
    find(|ip| {
        frames.push(ip);
        None::<()>
    });
    frames.into_boxed_slice()
}

/// A function of the user on the call stack, and the line in it that made the call.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Frame {
    pub(crate) function: String,
    pub(crate) file: Option<String>,
    pub(crate) line: u32,
}

impl std::fmt::Display for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.function)?;
        match &self.file {
            Some(file) => write!(f, " at {file}:{}", self.line),
            None => Ok(()),
        }
    }
}

/// Returns whether a function belongs to this crate or to the standard library.
fn is_internal(function: &str, file: Option<&str>) -> bool {
    // With `debug = "line-tables-only"`, names have no path: only the file tells.
    let is_library = file.is_some_and(|file| is_std_file(file) || is_own_file(file));
    let function = function.trim_start_matches(['<', '&', '(']);
    let function = function.strip_prefix("dyn ").unwrap_or(function);
    let starts = [
        "releasepool::",
        "core::",
        "std::",
        "alloc::",
        "backtrace::",
        "test::",
        "rust_",
        "_",
    ];
    is_library || function == "main" || starts.iter().any(|start| function.starts_with(start))
}

/// Returns up to `at_most` functions of the user among `frames`, innermost first. Slow: it reads
/// symbols and debug information. Without symbols it finds none.
pub(crate) fn of_user(frames: &[usize], at_most: usize) -> Vec<Frame> {
    let functions_at = |ip: &usize| {
        let at = std::ptr::without_provenance_mut::<c_void>(ip.saturating_sub(1));
        // Reading symbols runs much foreign code, which may panic.
        let resolved = catch_unwind(|| {
            let mut functions = Vec::new();
            backtrace::resolve(at, |symbol| {
                let Some(name) = symbol.name() else {
                    return;
                };
                let function = format!("{name:#}");
                let file = symbol.filename().map(|file| file.display().to_string());
                if !is_internal(&function, file.as_deref()) {
                    let line = symbol.lineno().unwrap_or(0);
                    functions.push(Frame {
                        function,
                        file,
                        line,
                    });
                }
            });
            functions
        });
        resolved.unwrap_or_default()
    };
    // Resolves no more addresses than needed: each takes long.
    frames.iter().flat_map(functions_at).take(at_most).collect()
}

/// The functions of the user, by return addresses that lead to them. The table keeps them, as
/// reading symbols takes milliseconds.
static FUNCTIONS: LazyLock<DashMap<usize, Option<&'static Frame>>> =
    LazyLock::new(DashMap::default);

/// Returns the innermost function of the user up the call stack.
pub(super) fn calling_function() -> Option<&'static Frame> {
    find(function_at)
}

/// Returns the function of the user to which a return address leads.
fn function_at(address: usize) -> Option<&'static Frame> {
    if let Some(known) = FUNCTIONS.get(&address) {
        return *known;
    }
    // Reads symbols while the table is not locked: a thread that waits for the table may hold the
    // lock of the crate `backtrace`, which `of_user` takes.
    let found = of_user(&[address], 1).pop();
    // Another thread may have inserted it meanwhile.
    *FUNCTIONS
        .entry(address)
        .or_insert_with(|| found.map(|frame| &*Box::leak(Box::new(frame))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_this_crate_and_of_std_are_internal() {
        for function in [
            "releasepool::object::make::Ref<T>::new",
            "<releasepool::Ref<T> as core::ops::drop::Drop>::drop",
            "core::ptr::drop_in_place<game::Texture>",
            "std::rt::lang_start",
            "main",
        ] {
            assert!(is_internal(function, None), "{function}");
        }
        assert!(!is_internal("game::load", None));
        assert!(!is_internal(
            "<game::Texture as core::ops::drop::Drop>::drop",
            None
        ));
    }

    #[test]
    fn a_file_tells_of_a_name_without_a_path() {
        for file in [
            "/rustc/0123/library/core/src/option.rs",
            "/home/.rustup/lib/rustlib/src/rust/library/core/src/option.rs",
            "/home/.cargo/registry/src/index/backtrace-0.3.76/src/lib.rs",
            concat!(env!("CARGO_MANIFEST_DIR"), "/src/lib.rs"),
        ] {
            assert!(is_internal("new", Some(file)), "{file}");
        }
        assert!(!is_internal("new", Some("/home/game/src/main.rs")));
    }

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no backtraces that this crate reads")]
    fn no_more_than_48_frames_are_captured() {
        #[inline(never)]
        fn deep(n: usize) -> usize {
            let frames = if n == 0 { capture().len() } else { deep(n - 1) };
            std::hint::black_box(frames)
        }
        assert_eq!(deep(60), 48);
    }

    #[test]
    fn sources_of_this_crate_are_its_own_and_those_of_tests_and_users_are_not() {
        let root = env!("CARGO_MANIFEST_DIR");
        assert!(is_own_file(&format!("{root}/src/object/make.rs")));
        assert!(!is_own_file(&format!("{root}/tests/all/main.rs")));
        assert!(!is_own_file(&format!("{root}/game/src/main.rs")));
    }
}
