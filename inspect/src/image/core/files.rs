//! The files that a core file needs: the program and its libraries, if they are still the same.

use super::notes::Notes;
use super::segments::Load;
use crate::error::Error;
use crate::image::backing::Regions;
use crate::image::elf;
use crate::image::parts::Mapping;
use crate::image::parts::Memory as _;
use memmap2::Mmap;
use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// ELF files by the names that the core has for them.
pub(super) type Files = HashMap<String, Arc<Mmap>>;

/// Opens the files that were mapped, if they are those that the process had. `bare` is the memory
/// without them; `program` is where the program is now.
pub(super) fn open(
    bare: &Regions,
    mappings: &[Mapping],
    loads: &[Load],
    notes: &Notes,
    program: Option<&Path>,
) -> Result<Files, Error> {
    let mut files = Files::new();
    for mapping in mappings {
        if !mapping.is_file() || mapping.offset != 0 || files.contains_key(&mapping.name) {
            continue;
        }
        let is_program = notes.program() == Some(&mapping.name);
        let name = &mapping.name;
        let recorded = Path::new(name.strip_suffix(" (deleted)").unwrap_or(name));
        let path = program.filter(|_| is_program).unwrap_or(recorded);
        let result = open_elf(path).and_then(|file| match difference(bare, mapping, &file) {
            None => Ok(file),
            Some(reason) => Err(Error::OtherProgram {
                path: path.to_owned(),
                reason,
            }),
        });
        match result {
            Ok(file) => {
                files.insert(mapping.name.clone(), file);
            }
            Err(error) if is_program => {
                let incomplete = mappings.iter().zip(loads).any(|(part, load)| {
                    part.name == mapping.name && load.file_len < load.end - load.start
                });
                if incomplete || program.is_some() {
                    return Err(error);
                }
            }
            Err(_) => {}
        }
    }
    Ok(files)
}

fn open_elf(path: &Path) -> Result<Arc<Mmap>, Error> {
    let fail = |error| Error::NoProgram {
        path: path.to_owned(),
        error,
    };
    // Opening what is no plain file, such as a pipe, may wait for ever.
    if !std::fs::metadata(path).map_err(fail)?.is_file() {
        return Err(fail(io::Error::other("it is no plain file")));
    }
    let file = File::open(path).map_err(fail)?;
    elf::map_file(&file).ok_or_else(|| fail(io::Error::other("it is no ELF file")))
}

/// Returns how a file differs from the one that was mapped; `None` if nothing says so.
fn difference(bare: &Regions, mapping: &Mapping, file: &[u8]) -> Option<String> {
    let module = elf::module(bare, mapping.start, &mapping.name);
    let expected = module.map(|module| module.build_id).unwrap_or_default();
    let found = elf::build_id(file);
    if !expected.is_empty() && !found.is_empty() {
        let hex = |id: &[u8]| -> String { id.iter().map(|byte| format!("{byte:02x}")).collect() };
        let (found, expected) = (hex(&found), hex(&expected));
        let differ = format!("its build id is {found}, and that of the core is {expected}");
        return (expected != found).then_some(differ);
    }
    // Programs without a build id: their headers change with almost any change.
    let mut header = vec![0; elf::PAGE as usize];
    let len = bare.read(mapping.start, &mut header).min(file.len());
    (header[..len] != file[..len]).then(|| "their headers differ".to_owned())
}
