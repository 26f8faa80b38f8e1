//! Model checks of `releasepool`, on the crate as it ships.
//!
//! * `cargo loom` runs every model in both modes, each in a process of its own, and prints a row
//!   for each; `cargo loom NAME` runs those with NAME in their names; `cargo loom -- --list` lists
//!   them.
//! * `ci/mutate.sh weaken` tests the models themselves: it weakens one ordering after the other, and
//!   expects a model to fail.
//! * `cargo loom -- --replay FILE` runs only a failing interleaving, with a log; the failure names
//!   the file.
//! * `cargo loom NAME -- --seed 0..100` samples interleavings, for models that do not finish; it
//!   proves nothing.

#[cfg(not(loom))]
compile_error!(
    "loom is off, so nothing would be checked: use `cargo loom`, and unset RUSTFLAGS (it hides the alias's flags)"
);

#[cfg(loom)]
mod checks;

#[cfg(loom)]
fn main() -> std::process::ExitCode {
    checks::main()
}

#[cfg(not(loom))]
fn main() {}
