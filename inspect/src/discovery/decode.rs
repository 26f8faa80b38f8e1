//! What a function that returns a `&'static str` returns, without running it.
//!
//! `type_name` is no `const fn`, so a type info holds a function. It is a handful of instructions:
//! an address, a length, and at opt-level 0 a frame or a call around them. A small interpreter
//! follows the instructions that compilers emit for it, and gives up at any other.

mod aarch64;
mod x86_64;

use crate::image::Memory;

/// Instructions that are followed at most.
const STEPS: usize = 64;

/// Where the interpreted function's stack is: no address of a program.
const STACK: u64 = 0xffff_8000_0000_0000;

/// The longest string that is believed.
const LONGEST: u64 = 1 << 16;

/// Returns the string that the function at `address` returns; `None` if it does anything else than
/// to return one.
pub(super) fn returned_str(memory: &dyn Memory, address: u64) -> Option<String> {
    let (start, len) = if cfg!(target_arch = "aarch64") {
        aarch64::returned(memory, address)?
    } else {
        x86_64::returned(memory, address)?
    };
    if len > LONGEST {
        return None;
    }
    let mut bytes = vec![0; len as usize];
    if memory.read(start, &mut bytes) != bytes.len() {
        return None;
    }
    String::from_utf8(bytes).ok()
}

/// The stack of an interpreted function: words by address.
#[derive(Default)]
struct Stack(Vec<(u64, Option<u64>)>);

impl Stack {
    /// Stores a word, of which `None` says that it is not known.
    fn store(&mut self, address: u64, word: Option<u64>) {
        match self.0.iter_mut().find(|(at, _)| *at == address) {
            Some((_, old)) => *old = word,
            None => self.0.push((address, word)),
        }
    }

    /// Loads a word.
    fn load(&self, address: u64) -> Option<u64> {
        self.0.iter().find(|(at, _)| *at == address)?.1
    }
}

/// Bytes of code for the tests of the interpreters.
#[cfg(test)]
struct Code(Vec<u8>);

/// Where [`Code`] is.
#[cfg(test)]
const CODE: u64 = 0x1000;

#[cfg(test)]
impl Memory for Code {
    fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
        let Some(from) = address.checked_sub(CODE) else {
            return 0;
        };
        let rest = self.0.get(from as usize..).unwrap_or(&[]);
        let n = rest.len().min(buffer.len());
        buffer[..n].copy_from_slice(&rest[..n]);
        n
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_function_of_this_build_is_understood() {
        struct Own;
        impl Memory for Own {
            fn read(&self, address: u64, buffer: &mut [u8]) -> usize {
                // SAFETY: the test reads only its own code and constants, a few bytes past a
                // function's end at most, where there is other code of this program.
                unsafe {
                    std::ptr::copy(address as *const u8, buffer.as_mut_ptr(), buffer.len());
                }
                buffer.len()
            }
        }
        for (f, name) in [
            (
                std::any::type_name::<Vec<u8>> as fn() -> &'static str,
                "alloc::vec::Vec<u8>",
            ),
            (std::any::type_name::<str>, "str"),
        ] {
            assert_eq!(returned_str(&Own, f as usize as u64).as_deref(), Some(name));
        }
    }
}
