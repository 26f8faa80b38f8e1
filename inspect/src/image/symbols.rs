//! Names of functions and static variables, from the symbols of the ELF files.

use super::elf::Header;
use super::parts::Module;
use memmap2::Mmap;
use object::LittleEndian;
use object::elf;
use object::read::elf::{ElfFile, FileHeader as _, Sym as _};
use std::sync::{Arc, OnceLock};

/// The symbols of all modules. Those of a module are read when first asked for.
#[derive(Default)]
pub struct Symbols {
    modules: Vec<ModuleSymbols>,
}

struct ModuleSymbols {
    start: u64,
    end: u64,
    bias: u64,
    /// The file; `None` if it could not be opened.
    file: Option<Arc<Mmap>>,
    /// The symbols, by address; read when first asked for.
    table: OnceLock<Vec<Symbol>>,
}

/// The kind of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// A function.
    Function,
    /// A static variable.
    Static,
    /// A thread-local variable; its address is an offset within the module's thread-local storage.
    ThreadLocal,
}

struct Symbol {
    address: u64,
    size: u64,
    kind: SymbolKind,
    /// Where the name is in the file.
    name: usize,
    name_len: u32,
}

impl Symbols {
    /// Returns the symbols of `modules`, which are in the files that `file` returns.
    pub(crate) fn new(modules: &[Module], file: impl Fn(&Module) -> Option<Arc<Mmap>>) -> Symbols {
        let modules = modules.iter().map(|module| ModuleSymbols {
            start: module.start,
            end: module.end,
            bias: module.bias,
            file: file(module),
            table: OnceLock::new(),
        });
        Symbols {
            modules: modules.collect(),
        }
    }

    /// Returns the name of the static variable that `address` lies in.
    pub fn static_at(&self, address: u64) -> Option<String> {
        self.name_at(address, SymbolKind::Static)
    }

    /// Returns the name of the thread-local variable at `offset` in the thread-local storage of the
    /// module that is mapped at `start`.
    pub fn thread_local_at(&self, start: u64, offset: u64) -> Option<String> {
        let module = self.modules.iter().find(|module| module.start == start)?;
        module.name_at(offset, SymbolKind::ThreadLocal)
    }

    /// Returns the address and the size of the first function or static whose name, demangled and
    /// without its hash, is `name`. Searches all symbols.
    pub fn find(&self, name: &str) -> Option<(u64, u64)> {
        self.modules.iter().find_map(|module| {
            let found = module.table().iter().find(|symbol| {
                symbol.kind != SymbolKind::ThreadLocal
                    && module.name(symbol).is_some_and(|symbol| symbol == name)
            })?;
            Some((module.bias.wrapping_add(found.address), found.size))
        })
    }

    fn name_at(&self, address: u64, kind: SymbolKind) -> Option<String> {
        let here = |module: &&ModuleSymbols| module.start <= address && address < module.end;
        let module = self.modules.iter().find(here)?;
        module.name_at(address.wrapping_sub(module.bias), kind)
    }
}

impl ModuleSymbols {
    /// Returns the name of the symbol of `kind` that has `address`, in the file's own addresses.
    fn name_at(&self, address: u64, kind: SymbolKind) -> Option<String> {
        let table = self.table();
        let end = table.partition_point(|symbol| symbol.address <= address);
        // Looks at eight symbols: only aliases and labels within functions overlap.
        let mut before = table[..end].iter().rev().take(8);
        let found = before
            .find(|symbol| symbol.kind == kind && address - symbol.address < symbol.size.max(1));
        self.name(found?)
    }

    fn name(&self, symbol: &Symbol) -> Option<String> {
        let file = self.file.as_ref()?;
        let name = file.get(symbol.name..symbol.name + symbol.name_len as usize)?;
        let name = std::str::from_utf8(name).ok()?;
        Some(format!("{:#}", rustc_demangle::demangle(name)))
    }

    fn table(&self) -> &[Symbol] {
        self.table.get_or_init(|| {
            let table = self.file.as_ref().and_then(|file| read(file));
            let mut table = table.unwrap_or_default();
            table.sort_unstable_by_key(|symbol| symbol.address);
            table
        })
    }
}

/// Reads the symbols of a file; if it was stripped, those for dynamic linking.
fn read(file: &[u8]) -> Option<Vec<Symbol>> {
    let parsed = ElfFile::<Header>::parse(file).ok()?;
    let sections = parsed.elf_header().sections(LittleEndian, file).ok()?;
    let symbols = match sections.symbols(LittleEndian, file, elf::SHT_SYMTAB).ok()? {
        symbols if !symbols.is_empty() => symbols,
        _ => sections.symbols(LittleEndian, file, elf::SHT_DYNSYM).ok()?,
    };
    let mut table = Vec::new();
    let defined = symbols.iter();
    for symbol in defined.filter(|symbol| !symbol.is_undefined(LittleEndian)) {
        let kind = match symbol.st_type() {
            elf::STT_FUNC | elf::STT_GNU_IFUNC => SymbolKind::Function,
            elf::STT_OBJECT => SymbolKind::Static,
            elf::STT_TLS => SymbolKind::ThreadLocal,
            _ => continue,
        };
        let Ok(name) = symbols.symbol_name(LittleEndian, symbol) else {
            continue;
        };
        table.push(Symbol {
            address: symbol.st_value(LittleEndian),
            size: symbol.st_size(LittleEndian),
            kind,
            name: name.as_ptr() as usize - file.as_ptr() as usize,
            name_len: u32::try_from(name.len()).ok()?,
        });
    }
    Some(table)
}
