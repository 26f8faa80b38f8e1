//! Finds the result of a function that returns a `&'static str`, without running it.
//!
//! `type_name` is no `const fn`, so a type info holds a function that returns the name. The
//! function has a handful of instructions, of which one computes the address and one the length; at
//! opt-level 0 there is a frame or a call around them. So the last address and the last number that
//! are set before the function returns are its result.

use crate::image::Memory;
use iced_x86::{Decoder, DecoderOptions, Mnemonic, OpKind, Register};

/// The most instructions that are followed.
const STEPS: usize = 64;

/// The longest string that is taken for a name, in bytes.
const LONGEST: u64 = 1 << 16;

/// The parts of the result that instructions have set so far.
#[derive(Default)]
struct Returned {
    start: Option<u64>,
    len: Option<u64>,
    /// The register in which the page of the address is, on AArch64.
    page: u32,
}

/// Where the next instruction is, if the function has not returned.
type Next = Option<u64>;

/// Returns the string that the function at `address` returns; `None` if it does anything else than
/// to return one.
pub(super) fn returned_str(memory: &dyn Memory, address: u64) -> Option<String> {
    let step = if cfg!(target_arch = "aarch64") {
        aarch64
    } else {
        x86_64
    };
    let (start, len) = returned(memory, address, step)?;
    let len = usize::try_from(len).ok().filter(|_| len <= LONGEST)?;
    String::from_utf8(memory.bytes(start, len)?).ok()
}

fn returned(
    memory: &dyn Memory,
    mut address: u64,
    step: impl Fn(&dyn Memory, u64, &mut Returned) -> Option<Next>,
) -> Option<(u64, u64)> {
    let mut returned = Returned::default();
    for _ in 0..STEPS {
        match step(memory, address, &mut returned)? {
            Some(next) => address = next,
            None => return returned.start.zip(returned.len),
        }
    }
    None
}

fn x86_64(memory: &dyn Memory, address: u64, returned: &mut Returned) -> Option<Next> {
    let mut code = [0; 15];
    let read = memory.read(address, &mut code);
    let i = Decoder::with_ip(64, &code[..read], address, DecoderOptions::NONE).decode();
    let last = i.op_count().saturating_sub(1);
    let is_number = matches!(
        i.op_kind(last),
        OpKind::Immediate32
            | OpKind::Immediate64
            | OpKind::Immediate8to64
            | OpKind::Immediate32to64
    );
    let register = i.op0_register();
    match i.mnemonic() {
        Mnemonic::Ret => return Some(None),
        Mnemonic::Jmp | Mnemonic::Call => return Some(Some(i.near_branch_target())),
        Mnemonic::Lea if i.is_ip_rel_memory_operand() => {
            returned.start = Some(i.ip_rel_memory_address());
        }
        // The string's address, in a program that is not position-independent.
        Mnemonic::Mov if is_number && matches!(register, Register::RAX | Register::EAX) => {
            returned.start = Some(i.immediate(last));
        }
        Mnemonic::Mov | Mnemonic::Push if is_number => returned.len = Some(i.immediate(last)),
        Mnemonic::Xor if register == Register::EDX => returned.len = Some(0),
        Mnemonic::INVALID | Mnemonic::Ud2 => return None,
        _ => {}
    }
    Some(Some(i.next_ip()))
}

/// Decodes by hand: all instructions have four bytes.
fn aarch64(memory: &dyn Memory, address: u64, returned: &mut Returned) -> Option<Next> {
    let i = u32::from_le(memory.half(address)?);
    let bits = |low: u32, len: u32| i >> low & ((1 << len) - 1);
    let signed = |low, len| i64::from((bits(low, len) << (32 - len)) as i32 >> (32 - len)) as u64;
    let number = u64::from(bits(5, 16)) << (16 * bits(21, 2));
    if i & 0xffff_fc1f == 0xd65f_0000 || i == 0xd65f_0bff {
        // `ret` and `retaa`.
        return Some(None);
    } else if i & 0x7c00_0000 == 0x1400_0000 {
        // `b` and `bl`.
        return Some(Some(address.wrapping_add(signed(0, 26) << 2)));
    } else if i & 0x1f00_0000 == 0x1000_0000 {
        // `adrp` and `adr`.
        let distance = signed(5, 19) << 2 | u64::from(bits(29, 2));
        returned.page = bits(0, 5);
        returned.start = Some(match i >> 31 {
            1 => (address & !0xfff).wrapping_add(distance << 12),
            _ => address.wrapping_add(distance),
        });
    } else if i & 0xffc0_0000 == 0x9100_0000 && bits(5, 5) == returned.page {
        // `add` of the rest of the address.
        returned.start = returned.start.map(|page| page + u64::from(bits(10, 12)));
    } else if i & 0x7f80_0000 == 0x5280_0000 {
        // `movz`.
        returned.len = Some(number);
    } else if i & 0x7f80_0000 == 0x7280_0000 {
        // `movk`.
        returned.len = returned.len.map(|len| len | number);
    } else if i & 0x7fff_ffff == 0x2a1f_03e1 {
        // `mov x1, xzr`.
        returned.len = Some(0);
    } else if i & 0xffe0_0000 == 0xd420_0000 {
        // `brk`.
        return None;
    }
    Some(Some(address + 4))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::synthetic_image::memory;

    /// Where the code of the tests is.
    const CODE: u64 = 0x1000;

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
        let vector = std::any::type_name::<Vec<u8>> as fn() -> &'static str;
        for (f, name) in [
            (vector, "alloc::vec::Vec<u8>"),
            (std::any::type_name::<str>, "str"),
        ] {
            assert_eq!(returned_str(&Own, f as usize as u64).as_deref(), Some(name));
        }
    }

    #[test]
    fn functions_for_x86_64() {
        const LEA: [u8; 7] = [0x48, 0x8d, 0x05, 0x10, 0, 0, 0];
        let run = |before: &[u8], after: &[u8]| {
            let code = memory(&[(CODE, &[before, &LEA, after].concat())]);
            returned(&code, CODE, x86_64)
        };
        let found = |before: u64, len| Some((CODE + before + 0x17, len));
        // mov edx, 3; push 3, pop rdx; xor edx, edx
        let mov = [0xba, 3, 0, 0, 0, 0xc3];
        assert_eq!(run(&[], &mov), found(0, 3));
        assert_eq!(run(&[], &[0x6a, 3, 0x5a, 0xc3]), found(0, 3));
        assert_eq!(run(&[], &[0x31, 0xd2, 0xc3]), found(0, 0));
        // endbr64; push rbp; mov rbp, rsp; sub rsp, 16, and back at the end
        let frame = [
            0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10,
        ];
        let end = [0xba, 3, 0, 0, 0, 0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3];
        assert_eq!(run(&frame, &end), found(12, 3));
        // push rax; call +2; pop rcx; ret
        assert_eq!(
            run(&[0x50, 0xe8, 2, 0, 0, 0, 0x59, 0xc3], &mov),
            found(8, 3)
        );
        // jmp +0
        assert_eq!(run(&[0xe9, 0, 0, 0, 0], &mov), found(5, 3));
        // mov eax, 0x1234; mov edx, 3; ret, which do not reach the `lea`
        let absolute = [0xb8, 0x34, 0x12, 0, 0, 0xba, 3, 0, 0, 0, 0xc3];
        assert_eq!(run(&absolute, &[]), Some((0x1234, 3)));
        assert_eq!(run(&[0x0f, 0x0b], &mov), None, "a trap");
        assert_eq!(run(&[0xc3], &[]), None, "nothing is set");
        assert_eq!(run(&[0xeb, 0xfe], &[]), None, "an endless loop");
        assert_eq!(run(&[], &[]), None, "the code ends");
    }

    #[test]
    fn functions_for_aarch64() {
        /// `adrp x0, 0x3000; add x0, x0, #0x123`
        const ADDRESS: [u32; 2] = [0xd000_0000, 0x9104_8c00];
        const RET: u32 = 0xd65f_03c0;
        let run = |before: &[u32], after: &[u32]| {
            let code = [before, &ADDRESS, after].concat();
            let bytes: Vec<u8> = code.iter().flat_map(|i| i.to_le_bytes()).collect();
            returned(&memory(&[(CODE, &bytes)]), CODE, aarch64)
        };
        // mov w1, #11; mov w1, #0x1234 and movk w1, #1, lsl #16; bti c and mov x1, xzr
        let mov = [0x5280_0161, RET];
        assert_eq!(run(&[], &mov), Some((0x3123, 11)));
        assert_eq!(
            run(&[], &[0x5282_4681, 0x72a0_0021, RET]),
            Some((0x3123, 0x1_1234))
        );
        assert_eq!(run(&[0xd503_245f], &[0xaa1f_03e1, RET]), Some((0x3123, 0)));
        // stp x29, x30, [sp, #-16]!; mov x29, sp; bl +12; ldp x29, x30, [sp], #16; ret
        let call = [0xa9bf_7bfd, 0x9100_03fd, 0x9400_0003, 0xa8c1_7bfd, RET];
        assert_eq!(run(&call, &mov), Some((0x3123, 11)));
        assert_eq!(run(&[0x1400_0001], &mov), Some((0x3123, 11)), "b +4");
        assert_eq!(run(&[0xd420_0000], &mov), None, "a trap");
        assert_eq!(run(&[RET], &[]), None, "nothing is set");
        assert_eq!(run(&[0x1400_0000], &[]), None, "an endless loop");
        assert_eq!(run(&[], &[]), None, "the code ends");
    }
}
