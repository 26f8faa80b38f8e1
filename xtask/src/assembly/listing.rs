//! Functions in the compiler's assembly, without what changes when other functions do.
//!
//! * Symbols are demangled, without the hashes of crates. A call through the table of addresses is
//!   written as a call: the linker makes it one.
//! * Labels and constants are numbered from 1 in each function. Constants are not shown.
//! * Directives and comments are left out; so are labels that no instruction names.

use rustc_demangle::try_demangle;
use std::collections::HashMap;
use std::fmt::Write;

/// The functions of a file: for each its demangled name, and its listing.
pub fn functions(assembly: &str) -> HashMap<String, String> {
    let mut functions = HashMap::new();
    let mut lines = assembly.lines();
    let mut function = None;
    // The compiler announces functions by `.type NAME,@function`.
    while let Some(line) = lines.next() {
        let announced = line.trim().strip_prefix(".type");
        if let Some(symbol) = announced.and_then(|rest| rest.strip_suffix(",@function")) {
            function = Some(symbol.trim());
        }
        let Some(symbol) = function else { continue };
        if line.strip_suffix(':') == Some(symbol) {
            function = None;
            let body = lines
                .by_ref()
                .take_while(|line| !line.starts_with(".Lfunc_end"));
            let body: Vec<_> = body.collect();
            let name = demangled(symbol);
            functions.insert(name.clone(), listing(&name, &body));
        }
    }
    functions
}

/// Returns the listing of one function: a head with what there is to count, and the instructions.
fn listing(name: &str, body: &[&str]) -> String {
    let lines: Vec<_> = body.iter().filter_map(|line| Line::read(line)).collect();
    let mut labels = HashMap::new();
    for line in &lines {
        if let Line::Label(label) = line {
            labels.insert(*label, labels.len() + 1);
        }
    }
    let mut constants = HashMap::new();
    let (mut instructions, mut locked, mut calls) = (0, 0, 0);
    let mut text = String::new();
    for line in &lines {
        match line {
            Line::Label(label) => _ = writeln!(text, ".{}:", labels[label]),
            Line::Instruction(instruction) => {
                let shown = shown(instruction, &labels, &mut constants);
                instructions += 1;
                locked += usize::from(is_locked(&shown));
                calls += usize::from(is_call(&shown));
                _ = writeln!(text, "    {shown}");
            }
        }
    }
    format!("# {name}\n# instructions: {instructions}, locked: {locked}, calls: {calls}\n{text}")
}

enum Line<'a> {
    /// The start of a block that is jumped to, maybe through a table.
    Label(&'a str),
    Instruction(&'a str),
}

impl<'a> Line<'a> {
    /// Reads a line; returns `None` for directives, comments, and labels for unwinding.
    fn read(line: &'a str) -> Option<Self> {
        let line = line.split('#').next().unwrap_or_default().trim_end();
        if let Some(label) = line.strip_suffix(':') {
            return label.starts_with(".LBB").then_some(Self::Label(label));
        }
        let text = line.trim_start();
        (!text.is_empty() && !text.starts_with('.')).then_some(Self::Instruction(text))
    }
}

/// Splits a text into symbols and what is between them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let is_in_symbol = |c: char| c.is_ascii_alphanumeric() || "._$".contains(c);
    let mut rest = text;
    std::iter::from_fn(move || {
        let first = rest.chars().next()?;
        let end = rest.find(|c| is_in_symbol(c) != is_in_symbol(first));
        let (word, after) = rest.split_at(end.unwrap_or(rest.len()));
        rest = after;
        Some(word)
    })
}

/// Returns an instruction as it is shown.
fn shown<'a>(
    instruction: &'a str,
    labels: &HashMap<&str, usize>,
    constants: &mut HashMap<&'a str, usize>,
) -> String {
    let mut text = String::new();
    for word in words(instruction) {
        if let Some(number) = labels.get(word) {
            _ = write!(text, ".{number}");
        } else if word.starts_with(".L") {
            let next = constants.len() + 1;
            _ = write!(text, "constant.{}", constants.entry(word).or_insert(next));
        } else if word.starts_with('_') {
            text += &demangled(word);
        } else {
            // Tabs separate the parts of an instruction.
            text += &word.replace("\t\t", " ").replace('\t', " ");
        }
    }
    for word in ["call", "jmp"] {
        let target = text.strip_prefix(&format!("{word} qword ptr [rip + "));
        if let Some(target) = target.and_then(|target| target.strip_suffix("@GOTPCREL]")) {
            return format!("{word} {target}");
        }
    }
    text
}

fn demangled(symbol: &str) -> String {
    try_demangle(symbol).map_or_else(|_| symbol.to_owned(), |name| format!("{name:#}"))
}

/// Returns whether an instruction is locked: by its prefix, or as an exchange with memory.
fn is_locked(shown: &str) -> bool {
    shown.starts_with("lock ") || (shown.starts_with("xchg ") && shown.contains('['))
}

/// Returns whether an instruction goes to another function. A jump to where a register says is
/// taken for one through a table, within the function.
fn is_call(shown: &str) -> bool {
    let leaves = |target: &str| target.contains("::") || target.contains('[');
    shown.starts_with("call ") || shown.strip_prefix("jmp ").is_some_and(leaves)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `number` is that of the function in its file, `hash` that of its crate.
    fn assembly(number: usize, hash: char) -> String {
        format!(
            "
\t.section\t.text._RNvCs{hash}_1c3add,\"ax\",@progbits
\t.type\t_RNvCs{hash}_1c3add,@function
_RNvCs{hash}_1c3add:
.Lfunc_begin{number}:
\t.cfi_startproc
\tcmp\trax, 1
\tje\t.LBB{number}_7
\tlea\trdi, [rip + .Lanon.{hash}.{number}]
\t#APP
\tlock\t\tadd\tqword ptr [rax], rcx
.Ltmp{number}:
\tcall\tqword ptr [rip + _RNvCs{hash}_1c4slow@GOTPCREL]
\tmov\trcx, qword ptr [rip + _RNvCs{hash}_1c5LOCAL@GOTTPOFF]
.LBB{number}_7:
\tlea\trsi, [rip + .Lanon.{hash}.{number}]
\txchg\tax, ax
\txchg\tqword ptr [rdi], rax
\tjmp\t.LBB{number}_7 # tail
\tjmp\trax
\tjmp\tqword ptr [rax + 8]
.Lfunc_end{number}:
\t.size\t_RNvCs{hash}_1c3add, .Lfunc_end{number}-_RNvCs{hash}_1c3add
\t.type\t.Lanon.{hash}.{number},@object
.Lanon.{hash}.{number}:
\t.ascii\t\"text\"
"
        )
    }

    #[test]
    fn a_function_is_shown_with_its_counts() {
        let functions = functions(&assembly(12, 'a'));
        let [("c::add", listing)] = functions
            .iter()
            .map(|(name, listing)| (name.as_str(), listing.as_str()))
            .collect::<Vec<_>>()[..]
        else {
            panic!("one function: {functions:?}");
        };
        assert_eq!(
            listing,
            "\
# c::add
# instructions: 12, locked: 2, calls: 2
    cmp rax, 1
    je .1
    lea rdi, [rip + constant.1]
    lock add qword ptr [rax], rcx
    call c::slow
    mov rcx, qword ptr [rip + c::LOCAL@GOTTPOFF]
.1:
    lea rsi, [rip + constant.1]
    xchg ax, ax
    xchg qword ptr [rdi], rax
    jmp .1
    jmp rax
    jmp qword ptr [rax + 8]
"
        );
    }

    #[test]
    fn what_other_functions_change_is_left_out() {
        assert_eq!(functions(&assembly(1, 'a')), functions(&assembly(34, 'b')));
    }

    #[test]
    fn a_file_has_many_functions() {
        let two = assembly(1, 'a') + &assembly(2, 'b').replace("3add", "3sub");
        let mut names: Vec<_> = functions(&two).into_keys().collect();
        names.sort();
        assert_eq!(names, ["c::add", "c::sub"]);
    }
}
