//! The interpreter for AArch64.

use super::{STACK, STEPS, Stack};
use crate::image::Memory;

const LINK: usize = 30;
/// The stack pointer, or the zero register: both have the number 31.
const SP: usize = 31;

/// Returns `x0` and `x1` after the function at `address` has returned.
pub(super) fn returned(memory: &dyn Memory, address: u64) -> Option<(u64, u64)> {
    let mut machine = Machine {
        memory,
        at: address,
        registers: [None; 32],
        stack: Stack::default(),
    };
    machine.registers[SP] = Some(STACK);
    machine.registers[LINK] = Some(RETURN);
    for _ in 0..STEPS {
        machine.step()?;
        if machine.at == RETURN {
            return machine.registers[0].zip(machine.registers[1]);
        }
    }
    None
}

/// Where the function returns to: no address of a program.
const RETURN: u64 = 0xffff_9000_0000_0000;

struct Machine<'a> {
    memory: &'a dyn Memory,
    at: u64,
    /// `x0` to `x30`, and the stack pointer.
    registers: [Option<u64>; 32],
    stack: Stack,
}

/// Returns `len` bits from `low` on.
fn bits(instruction: u32, low: u32, len: u32) -> u32 {
    instruction >> low & ((1 << len) - 1)
}

/// Returns `len` bits from `low` on as a signed number.
fn signed(instruction: u32, low: u32, len: u32) -> i64 {
    let unused = 64 - len;
    ((u64::from(bits(instruction, low, len)) << unused) as i64) >> unused
}

impl Machine<'_> {
    /// Runs an instruction.
    fn step(&mut self) -> Option<()> {
        let mut bytes = [0; 4];
        if self.memory.read(self.at, &mut bytes) != 4 {
            return None;
        }
        let i = u32::from_le_bytes(bytes);
        let here = self.at;
        self.at += 4;
        let (d, n) = (bits(i, 0, 5) as usize, bits(i, 5, 5) as usize);
        let wide = i >> 31 == 1;
        let jump = |distance: i64| here.wrapping_add(4u64.wrapping_mul(distance as u64));
        // `nop`, `bti`, `paciasp` and other hints.
        if i & 0xffff_f01f == 0xd503_201f {
        } else if i & 0x9f00_0000 == 0x9000_0000 || i & 0x9f00_0000 == 0x1000_0000 {
            // `adrp` and `adr`.
            let distance = signed(i, 5, 19) << 2 | i64::from(bits(i, 29, 2));
            let address = if wide {
                (here & !0xfff).wrapping_add((distance as u64) << 12)
            } else {
                here.wrapping_add(distance as u64)
            };
            self.set(d, Some(address), true);
        } else if i & 0x3f80_0000 == 0x1100_0000 {
            // `add` and `sub` of an immediate value.
            let value = u64::from(bits(i, 10, 12)) << (12 * bits(i, 22, 1));
            let value = if bits(i, 30, 1) == 1 {
                value.wrapping_neg()
            } else {
                value
            };
            let sum = self.registers[n].map(|n| n.wrapping_add(value));
            self.registers[d] = sum.map(|sum| if wide { sum } else { sum & 0xffff_ffff });
        } else if i & 0x7fe0_ffe0 == 0x2a00_03e0 {
            // `mov` of a register.
            let value = self.get(bits(i, 16, 5) as usize);
            self.set(d, value, wide);
        } else if i & 0x1f80_0000 == 0x1280_0000 {
            self.move_immediate(i, d, wide)?;
        } else if i & 0x7c00_0000 == 0x1400_0000 {
            // `b` and `bl`.
            if wide {
                self.registers[LINK] = Some(self.at);
            }
            self.at = jump(signed(i, 0, 26));
        } else if i & 0xffff_fc1f == 0xd65f_0000 || i == 0xd65f_0bff {
            // `ret`, and `retaa`.
            let to = if i == 0xd65f_0bff { LINK } else { n };
            self.at = self.registers[to]?;
        } else if i & 0x3e00_0000 == 0x2800_0000 {
            self.pair(i, wide)?;
        } else if i & 0xbf80_0000 == 0xb900_0000 {
            self.single(i)?;
        } else if i & 0xbfa0_0c00 == 0xb800_0400 || i & 0xbfa0_0c00 == 0xb800_0c00 {
            self.single_with_update(i)?;
        } else {
            return None;
        }
        Some(())
    }

    /// Reads a register, of which number 31 is zero.
    fn get(&self, register: usize) -> Option<u64> {
        if register == SP {
            Some(0)
        } else {
            self.registers[register]
        }
    }

    /// Writes a register, of which number 31 keeps nothing.
    fn set(&mut self, register: usize, value: Option<u64>, wide: bool) {
        if register != SP {
            self.registers[register] = value.map(|v| if wide { v } else { v & 0xffff_ffff });
        }
    }

    /// `movz`, `movn` and `movk`.
    fn move_immediate(&mut self, i: u32, d: usize, wide: bool) -> Option<()> {
        let shift = 16 * bits(i, 21, 2);
        let value = u64::from(bits(i, 5, 16)) << shift;
        let value = match bits(i, 29, 2) {
            0 => Some(!value),
            2 => Some(value),
            3 => self.get(d).map(|old| old & !(0xffff << shift) | value),
            _ => return None,
        };
        self.set(d, value, wide);
        Some(())
    }

    /// `ldp` and `stp` of whole registers.
    fn pair(&mut self, i: u32, wide: bool) -> Option<()> {
        if !wide || bits(i, 30, 1) == 1 {
            return None;
        }
        let base = bits(i, 5, 5) as usize;
        let start = self.registers[base]?;
        let moved = start.wrapping_add((signed(i, 15, 7) * 8) as u64);
        // 1: after the access, 2: not at all, 3: before it.
        let mode = bits(i, 23, 2);
        let at = if mode == 1 { start } else { moved };
        let (a, b) = (bits(i, 0, 5) as usize, bits(i, 10, 5) as usize);
        self.access(i, a, at);
        self.access(i, b, at.wrapping_add(8));
        if mode != 2 {
            self.registers[base] = Some(moved);
        }
        Some(())
    }

    /// `ldr` and `str` at a distance from a register.
    fn single(&mut self, i: u32) -> Option<()> {
        let size = if bits(i, 30, 1) == 1 { 8 } else { 4 };
        let base = self.registers[bits(i, 5, 5) as usize]?;
        let at = base.wrapping_add(u64::from(bits(i, 10, 12)) * size);
        if bits(i, 23, 1) == 1 {
            return None;
        }
        self.access(i, bits(i, 0, 5) as usize, at);
        Some(())
    }

    /// `ldr` and `str` that change the register of the address, too.
    fn single_with_update(&mut self, i: u32) -> Option<()> {
        let base = bits(i, 5, 5) as usize;
        let start = self.registers[base]?;
        let moved = start.wrapping_add(signed(i, 12, 9) as u64);
        let at = if bits(i, 11, 1) == 1 { moved } else { start };
        self.access(i, bits(i, 0, 5) as usize, at);
        self.registers[base] = Some(moved);
        Some(())
    }

    /// Loads or stores a register.
    fn access(&mut self, i: u32, register: usize, at: u64) {
        if bits(i, 22, 1) == 1 {
            let value = self.stack.load(at).or_else(|| self.memory.word(at));
            // A word, or the half of one.
            let whole = i & 0x3e00_0000 == 0x2800_0000 || bits(i, 30, 1) == 1;
            self.set(register, value, whole);
        } else {
            self.stack.store(at, self.get(register));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CODE, Code};
    use super::*;

    fn run(code: &[u32]) -> Option<(u64, u64)> {
        let bytes = code.iter().flat_map(|i| i.to_le_bytes()).collect();
        returned(&Code(bytes), CODE)
    }

    /// `adrp x0, 0x3000; add x0, x0, #0x123`
    const ADDRESS: [u32; 2] = [0xd000_0000, 0x9104_8c00];
    const RET: u32 = 0xd65f_03c0;

    #[test]
    fn optimized_functions() {
        // mov w1, #11
        let short = [&ADDRESS[..], &[0x5280_0161, RET]].concat();
        assert_eq!(run(&short), Some((0x3123, 11)));
        // mov w1, #0x1234; movk w1, #1, lsl #16
        let long = [&ADDRESS[..], &[0x5282_4681, 0x72a0_0021, RET]].concat();
        assert_eq!(run(&long), Some((0x3123, 0x1_1234)));
        // bti c; mov x1, xzr
        let empty = [&[0xd503_245f], &ADDRESS[..], &[0xaa1f_03e1, RET]].concat();
        assert_eq!(run(&empty), Some((0x3123, 0)));
    }

    #[test]
    fn frames_and_calls() {
        // mov w8, #11; mov w1, w8
        let body = [&ADDRESS[..], &[0x5280_0168, 0x2a08_03e1, RET]].concat();
        assert_eq!(run(&body), Some((0x3123, 11)));
        // stp x29, x30, [sp, #-16]!; mov x29, sp; bl +12; ldp x29, x30, [sp], #16; ret
        let call = [0xa9bf_7bfd, 0x9100_03fd, 0x9400_0003, 0xa8c1_7bfd, RET];
        assert_eq!(run(&[&call[..], &body].concat()), Some((0x3123, 11)));
        // b +4
        assert_eq!(
            run(&[&[0x1400_0001], &body[..]].concat()),
            Some((0x3123, 11))
        );
        // sub sp, sp, #16; ...; str x0, [sp, #8]; mov x0, xzr; ldr x0, [sp, #8]; add sp, sp, #16
        let spilled = [
            &[0xd100_43ff],
            &ADDRESS[..],
            &[
                0xf900_07e0,
                0xaa1f_03e0,
                0xf940_07e0,
                0x9100_43ff,
                0x5280_0161,
                RET,
            ],
        ];
        assert_eq!(run(&spilled.concat()), Some((0x3123, 11)));
        // str x30, [sp, #-16]!; bl +12; ldr x30, [sp], #16; ret
        let call = [0xf81f_0ffe, 0x9400_0003, 0xf841_07fe, RET];
        assert_eq!(run(&[&call[..], &body].concat()), Some((0x3123, 11)));
    }

    #[test]
    fn other_functions_are_refused() {
        assert_eq!(run(&[0xd420_0000]), None, "a trap");
        assert_eq!(run(&[RET]), None, "no register is set");
        assert_eq!(run(&[0x1400_0000]), None, "an endless loop");
        assert_eq!(run(&ADDRESS), None, "the code ends");
    }
}
