//! The interpreter for x86-64.

use super::{STACK, STEPS, Stack};
use crate::image::Memory;

const RAX: usize = 0;
const RDX: usize = 2;
const RSP: usize = 4;
const RBP: usize = 5;

/// Returns `rax` and `rdx` after the function at `address` has returned.
pub(super) fn returned(memory: &dyn Memory, address: u64) -> Option<(u64, u64)> {
    let mut machine = Machine {
        memory,
        at: address,
        window: Window::default(),
        registers: [None; 16],
        stack: Stack::default(),
        calls: 0,
    };
    machine.registers[RSP] = Some(STACK);
    for _ in 0..STEPS {
        if machine.step()? {
            return machine.registers[RAX].zip(machine.registers[RDX]);
        }
    }
    None
}

struct Machine<'a> {
    memory: &'a dyn Memory,
    at: u64,
    window: Window,
    registers: [Option<u64>; 16],
    stack: Stack,
    calls: u32,
}

/// Bytes of code that were read at once, as each read may be a system call.
#[derive(Default)]
struct Window {
    start: u64,
    len: usize,
    bytes: [u8; 32],
}

impl Window {
    fn byte(&mut self, memory: &dyn Memory, address: u64) -> Option<u8> {
        let offset = address.wrapping_sub(self.start);
        if offset >= self.len as u64 {
            self.start = address;
            self.len = memory.read(address, &mut self.bytes);
        }
        let offset = address.wrapping_sub(self.start) as usize;
        self.bytes[..self.len].get(offset).copied()
    }
}

/// An operand that a ModRM byte names.
enum Operand {
    Register(usize),
    /// A place in memory, if its address is known.
    Place(Option<u64>),
}

/// The prefixes of an instruction that matter here.
#[derive(Clone, Copy, Default)]
struct Prefixes {
    rex: u8,
    /// The address is relative to a segment, so it is not known.
    segment: bool,
}

impl Prefixes {
    fn wide(self) -> bool {
        self.rex & 8 != 0
    }

    /// The extension of the field `reg`.
    fn r(self) -> usize {
        usize::from(self.rex & 4) << 1
    }

    /// The extension of the field `rm`, or of an opcode's register.
    fn b(self) -> usize {
        usize::from(self.rex & 1) << 3
    }

    /// Cuts a value to the operand's size.
    fn cut(self, value: u64) -> u64 {
        if self.wide() {
            value
        } else {
            value & 0xffff_ffff
        }
    }
}

impl Machine<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = self.window.byte(self.memory, self.at);
        self.at = self.at.wrapping_add(1);
        byte
    }

    fn signed_byte(&mut self) -> Option<u64> {
        Some(self.byte()? as i8 as u64)
    }

    fn signed_32(&mut self) -> Option<u64> {
        let mut value = 0;
        for i in 0..4 {
            value |= u32::from(self.byte()?) << (8 * i);
        }
        Some(value as i32 as u64)
    }

    /// Runs an instruction; returns whether it was the last return.
    fn step(&mut self) -> Option<bool> {
        let mut prefixes = Prefixes::default();
        let mut opcode = self.byte()?;
        loop {
            match opcode {
                0x64 | 0x65 => prefixes.segment = true,
                0x66 | 0xf3 => {}
                _ => break,
            }
            opcode = self.byte()?;
        }
        if opcode & 0xf0 == 0x40 {
            prefixes.rex = opcode;
            opcode = self.byte()?;
        }
        let of_opcode = usize::from(opcode & 7) | prefixes.b();
        match opcode {
            0x0f => self.two_bytes(prefixes)?,
            0x50..=0x57 => self.push(self.registers[of_opcode]),
            0x58..=0x5f => self.registers[of_opcode] = self.pop(),
            0x68 => {
                let value = self.signed_32()?;
                self.push(Some(value));
            }
            0x6a => {
                let value = self.signed_byte()?;
                self.push(Some(value));
            }
            0x90 => {}
            0xb8..=0xbf => {
                let mut value = self.signed_32()?;
                if prefixes.wide() {
                    value = (value & 0xffff_ffff) | (self.signed_32()? << 32);
                }
                self.registers[of_opcode] = Some(prefixes.cut(value));
            }
            0xc3 => {
                self.registers[RSP] = self.registers[RSP].map(|sp| sp.wrapping_add(8));
                if self.calls == 0 {
                    return Some(true);
                }
                self.calls -= 1;
                self.at = self.stack.load(self.registers[RSP]?.wrapping_sub(8))?;
            }
            0xc9 => {
                self.registers[RSP] = self.registers[RBP];
                self.registers[RBP] = self.pop();
            }
            0xe8 => {
                let distance = self.signed_32()?;
                self.push(Some(self.at));
                self.calls += 1;
                self.at = self.at.wrapping_add(distance);
            }
            0xe9 => {
                let distance = self.signed_32()?;
                self.at = self.at.wrapping_add(distance);
            }
            0xeb => {
                let distance = self.signed_byte()?;
                self.at = self.at.wrapping_add(distance);
            }
            // A jump on a condition, such as that of a stack protector: to the exceptional case.
            0x70..=0x7f => {
                self.signed_byte()?;
            }
            _ => self.with_operand(opcode, prefixes)?,
        }
        Some(false)
    }

    fn two_bytes(&mut self, prefixes: Prefixes) -> Option<()> {
        match self.byte()? {
            // `endbr64`, and `nop`s of several bytes.
            0x1e | 0x1f => {
                self.operand(prefixes, 0)?;
            }
            0x80..=0x8f => {
                self.signed_32()?;
            }
            _ => return None,
        }
        Some(())
    }

    /// Runs an instruction with a ModRM byte.
    fn with_operand(&mut self, opcode: u8, prefixes: Prefixes) -> Option<()> {
        let immediate = match opcode {
            0x83 => 1,
            0x81 | 0xc7 => 4,
            _ => 0,
        };
        let (reg, operand) = self.operand(prefixes, immediate)?;
        match opcode {
            // `add`, `sub`, `and`, `cmp` and others with an immediate operand.
            0x81 | 0x83 => {
                let value = if immediate == 1 {
                    self.signed_byte()?
                } else {
                    self.signed_32()?
                };
                let old = self.load(&operand);
                let new = match reg & 7 {
                    0 => old.map(|old| old.wrapping_add(value)),
                    4 => old.map(|old| old & value),
                    5 => old.map(|old| old.wrapping_sub(value)),
                    7 => return Some(()),
                    _ => return None,
                };
                self.store(&operand, new.map(|new| prefixes.cut(new)));
            }
            // `cmp` and `test`.
            0x39 | 0x3b | 0x85 => {}
            // `xor` and `sub` of a register with itself.
            0x29 | 0x2b | 0x31 | 0x33 => {
                let Operand::Register(other) = operand else {
                    return None;
                };
                let zero = (other == reg).then_some(0);
                self.registers[if opcode & 2 == 0 { other } else { reg }] = zero;
            }
            0x89 => self.store(
                &operand,
                self.registers[reg].map(|value| prefixes.cut(value)),
            ),
            0x8b => self.registers[reg] = self.load(&operand).map(|value| prefixes.cut(value)),
            0x8d => {
                let Operand::Place(place) = operand else {
                    return None;
                };
                self.registers[reg] = place.map(|place| prefixes.cut(place));
            }
            0xc7 => {
                let value = self.signed_32()?;
                self.store(&operand, Some(prefixes.cut(value)));
            }
            _ => return None,
        }
        Some(())
    }

    /// Reads a ModRM byte and what belongs to it. `immediate` bytes follow, from whose end
    /// distances count.
    fn operand(&mut self, prefixes: Prefixes, immediate: u64) -> Option<(usize, Operand)> {
        let modrm = self.byte()?;
        let reg = usize::from(modrm >> 3 & 7) | prefixes.r();
        let rm = usize::from(modrm & 7);
        if modrm >> 6 == 3 {
            return Some((reg, Operand::Register(rm | prefixes.b())));
        }
        let mut base = match (rm, modrm >> 6) {
            (4, mode) => {
                let sib = self.byte()?;
                // An index register is not needed here; nor is an address without a base.
                let indexed = sib >> 3 & 7 != 4 || prefixes.rex & 2 != 0;
                let base = usize::from(sib & 7) | prefixes.b();
                if indexed || (mode == 0 && sib & 7 == 5) {
                    if mode == 0 && sib & 7 == 5 {
                        self.signed_32()?;
                    }
                    None
                } else {
                    self.registers[base]
                }
            }
            (5, 0) => {
                let distance = self.signed_32()?;
                Some(self.at.wrapping_add(distance).wrapping_add(immediate))
            }
            _ => self.registers[rm | prefixes.b()],
        };
        let distance = match modrm >> 6 {
            1 => self.signed_byte()?,
            2 => self.signed_32()?,
            _ => 0,
        };
        base = base.map(|base| base.wrapping_add(distance));
        if prefixes.segment {
            base = None;
        }
        Some((reg, Operand::Place(base)))
    }

    fn load(&self, operand: &Operand) -> Option<u64> {
        match *operand {
            Operand::Register(register) => self.registers[register],
            Operand::Place(place) => {
                let place = place?;
                self.stack.load(place).or_else(|| self.memory.word(place))
            }
        }
    }

    fn store(&mut self, operand: &Operand, value: Option<u64>) {
        match *operand {
            Operand::Register(register) => self.registers[register] = value,
            Operand::Place(Some(place)) => self.stack.store(place, value),
            Operand::Place(None) => {}
        }
    }

    fn push(&mut self, value: Option<u64>) {
        if let Some(sp) = self.registers[RSP] {
            let sp = sp.wrapping_sub(8);
            self.registers[RSP] = Some(sp);
            self.stack.store(sp, value);
        }
    }

    fn pop(&mut self) -> Option<u64> {
        let sp = self.registers[RSP]?;
        self.registers[RSP] = Some(sp.wrapping_add(8));
        self.stack.load(sp)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CODE, Code};
    use super::*;

    fn run(code: &[u8]) -> Option<(u64, u64)> {
        returned(&Code(code.to_vec()), CODE)
    }

    const LEA: [u8; 7] = [0x48, 0x8d, 0x05, 0x10, 0, 0, 0];

    fn code(parts: &[&[u8]]) -> Vec<u8> {
        parts.concat()
    }

    #[test]
    fn optimized_functions() {
        let found = Some((CODE + 0x17, 3));
        assert_eq!(run(&code(&[&LEA, &[0xba, 3, 0, 0, 0], &[0xc3]])), found);
        assert_eq!(run(&code(&[&LEA, &[0x6a, 3, 0x5a], &[0xc3]])), found);
        let found = Some((CODE + 0x17, 0));
        assert_eq!(run(&code(&[&LEA, &[0x31, 0xd2], &[0xc3]])), found);
    }

    #[test]
    fn frames_calls_jumps_and_landing_pads() {
        // endbr64; push rbp; mov rbp, rsp; sub rsp, 16; lea; mov edx, 3; add rsp, 16; pop; ret
        let framed = code(&[
            &[
                0xf3, 0x0f, 0x1e, 0xfa, 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x10,
            ],
            &LEA,
            &[0xba, 3, 0, 0, 0, 0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3],
        ]);
        assert_eq!(run(&framed), Some((CODE + 12 + 0x17, 3)));
        // push rax; call +2; pop rcx; ret; lea; mov edx, 3; ret
        let called = code(&[
            &[0x50, 0xe8, 2, 0, 0, 0, 0x59, 0xc3],
            &LEA,
            &[0xba, 3, 0, 0, 0, 0xc3],
        ]);
        assert_eq!(run(&called), Some((CODE + 8 + 0x17, 3)));
        let jumped = code(&[&[0xe9, 0, 0, 0, 0], &LEA, &[0xba, 3, 0, 0, 0, 0xc3]]);
        assert_eq!(run(&jumped), Some((CODE + 5 + 0x17, 3)));
        // mov eax, 0x1234; mov edx, eax; ret
        let moved = [0xb8, 0x34, 0x12, 0, 0, 0x89, 0xc2, 0xc3];
        assert_eq!(run(&moved), Some((0x1234, 0x1234)));
    }

    #[test]
    fn words_that_go_through_the_stack() {
        // push rax; lea rax, [rip + 0x10]; mov [rsp], rax; mov edx, 3; mov rax, [rsp]; pop rcx; ret
        let spilled = code(&[
            &[0x50],
            &LEA,
            &[0x48, 0x89, 0x04, 0x24, 0xba, 3, 0, 0, 0, 0x31, 0xc0],
            &[0x48, 0x8b, 0x04, 0x24, 0x59, 0xc3],
        ]);
        assert_eq!(run(&spilled), Some((CODE + 1 + 0x17, 3)));
    }

    #[test]
    fn other_functions_are_refused() {
        assert_eq!(run(&[0x0f, 0x0b]), None);
        assert_eq!(run(&[0xc3]), None, "no register is set");
        assert_eq!(run(&[0xeb, 0xfe]), None, "an endless loop");
        assert_eq!(run(&LEA), None, "the code ends");
    }
}
