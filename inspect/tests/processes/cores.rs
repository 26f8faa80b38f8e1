//! Core files of gdb and of the kernel, and damaged ones.

use crate::common::{self, Directory, Target};
use crate::known;
use releasepool_inspect::error::Error;
use releasepool_inspect::image::{Image, Memory, ProgramImage};
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Plays the role: the process aborts when it is asked to.
pub fn play() -> ! {
    known::fill();
    common::serve(|_| {
        let limit = libc::rlimit {
            rlim_cur: libc::RLIM_INFINITY,
            rlim_max: libc::RLIM_INFINITY,
        };
        // SAFETY: the limit is a valid one.
        unsafe { libc::setrlimit(libc::RLIMIT_CORE, &raw const limit) };
        std::process::abort()
    })
}

fn refused(core: &Path, program: Option<&Path>) -> Error {
    let opened = ProgramImage::open(core, program);
    opened.err().expect("it is refused")
}

/// Checks an image of the process that plays the role.
fn check(image: &ProgramImage, pid: u32) {
    assert_eq!(image.pid(), Some(pid));
    known::check(image);
    let place = known::word(image, "PLACE");
    for number in [0, 1, 50_000, 99_999] {
        assert_eq!(image.word(place + number * 8), Some(number * 3));
    }
    assert!(image.present().iter().any(|range| range.contains(&place)));
    let code = image.slice(known::address(image, "fill"), 16);
    assert!(code.is_some_and(|code| code.iter().any(|&byte| byte != 0)));

    assert!(image.threads().len() >= 2);
    assert!(image.threads().iter().any(|thread| thread.tid == pid));
    for thread in image.threads() {
        assert!(image.word(thread.stack_pointer).is_some());
        assert!(image.word(thread.thread_pointer).is_some());
    }
    let mut mappings = image.mappings().iter();
    assert!(mappings.any(|mapping| mapping.name == "[stack]"));
    assert!(!image.modules()[0].notes.is_empty());
}

#[test]
fn a_core_of_gdb_shows_what_the_process_had() {
    let directory = Directory::new("gcore");
    let target = Target::start("aborts");
    let process = ProgramImage::take(target.pid()).unwrap();
    let Some(path) = directory.core_of(target.pid()) else {
        return;
    };
    let core = ProgramImage::open(&path, None).unwrap();
    check(&core, target.pid());

    let heap = |image: &dyn Image| {
        let mut mappings = image.mappings().iter();
        let heap = mappings.find(|mapping| mapping.name == "[heap]");
        heap.map(|heap| heap.start)
    };
    assert_eq!(heap(&core), heap(&process));
    let modules = |image: &dyn Image| format!("{:?}", image.modules());
    assert_eq!(modules(&core), modules(&process));
    for thread in process.threads() {
        let mut threads = core.threads().iter();
        let same = threads.find(|same| same.tid == thread.tid).unwrap();
        // Compares only the general registers: gdb writes the vector registers in a form of its
        // own.
        assert_eq!(same.registers[..27], thread.registers[..27]);
        assert_eq!(same.thread_pointer, thread.thread_pointer);
        assert_eq!(same.stack_pointer, thread.stack_pointer);
    }
    // Leaves out stacks, which threads have changed since.
    let stacks: Vec<_> = process.threads().iter().map(|t| t.stack_pointer).collect();
    let mappings = process.mappings().iter();
    let is_stack = |start, end| stacks.iter().any(|sp| (start..end).contains(sp));
    let mappings = mappings.filter(|m| m.read && m.write && !is_stack(m.start, m.end));
    for mapping in mappings {
        for address in (mapping.start..mapping.end).step_by(4096 - 8) {
            let words = [core.word(address), process.word(address)];
            assert_eq!(words[0], words[1], "{address:x} of {mapping:?}");
        }
    }
}

#[test]
fn a_core_of_the_kernel_shows_what_the_process_had() {
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
    if pattern.starts_with(['|', '/', '@']) || pattern.contains('%') {
        return eprintln!("skipped: cores go elsewhere: {pattern}");
    }
    let directory = Directory::new("kernel");
    let mut target = Target::start_by("aborts", |command| {
        command.current_dir(&directory.0);
    });
    let pid = target.pid();
    let aborted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| target.ask("abort")));
    assert!(aborted.is_err());
    let files = fs::read_dir(&directory.0).unwrap();
    let files: Vec<PathBuf> = files.map(|entry| entry.unwrap().path()).collect();
    let [core] = &files[..] else {
        return eprintln!("skipped: the limits permit no cores: {files:?}");
    };
    check(&ProgramImage::open(core, None).unwrap(), pid);
}

/// Uses all of an image, and finds it consistent.
fn use_all(image: &ProgramImage) {
    let mut buffer = [0; 4096];
    for mapping in image.mappings() {
        for address in [mapping.start, mapping.end.saturating_sub(8), mapping.end] {
            let read = image.read(address, &mut buffer);
            if let Some(bytes) = image.slice(address, read) {
                assert_eq!(bytes, &buffer[..read]);
            }
        }
    }
    assert!(image.present().iter().all(|range| range.start < range.end));
    let mut modules = image.modules().iter();
    assert!(modules.all(|module| module.start < module.end));
}

#[test]
fn truncated_cores_are_refused() {
    let directory = Directory::new("truncated");
    let target = Target::start("aborts");
    let Some(path) = directory.core_of(target.pid()) else {
        return;
    };
    let core = fs::File::options().write(true).open(&path).unwrap();
    let refuse = |end: u64| {
        core.set_len(end).unwrap();
        match refused(&path, None) {
            Error::TruncatedCore {
                found, expected, ..
            } => {
                assert_eq!(found, end);
                assert!(expected > found);
                expected
            }
            // The file is too short to have its magic number.
            Error::NotACore { .. } if end < 4 => 0,
            error => panic!("{end}: {error}"),
        }
    };
    // The end of what is needed: after the memory come only section headers, which are not read.
    let len = refuse(core.metadata().unwrap().len() / 2);
    let ends = (0..300).chain((300..len / 2).step_by(len as usize / 61));
    let mut ends: Vec<u64> = ends.collect();
    while let Some(end) = ends.pop() {
        refuse(end);
    }
}

#[test]
fn damaged_cores_are_refused_or_read() {
    let directory = Directory::new("damaged");
    let target = Target::start("aborts");
    let Some(path) = directory.core_of(target.pid()) else {
        return;
    };
    let bytes = fs::read(&path).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    // Damages headers and notes, which have all the offsets. The file is sparse, so that each round
    // is quick.
    let (mut refused, mut opened) = (0, 0);
    let mut rng = fastrand::Rng::with_seed(1);
    for round in 0..1500 {
        let within = if round % 2 == 0 { 0x400 } else { 0x4000 };
        let changes = 0..rng.usize(1..4);
        let changed: Vec<_> = changes.map(|_| (rng.usize(..within), rng.u8(..))).collect();
        for &(offset, byte) in &changed {
            file.write_all_at(&[byte], offset as u64).unwrap();
        }
        match ProgramImage::open(&path, None) {
            Ok(image) => {
                use_all(&image);
                opened += 1;
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
        }
        for (offset, _) in changed {
            let byte = &bytes[offset..=offset];
            file.write_all_at(byte, offset as u64).unwrap();
        }
    }
    let both = refused > 0 && opened > 0;
    assert!(both, "{refused} refused, {opened} opened");
    use_all(&ProgramImage::open(&path, None).unwrap());
}

#[test]
fn other_files_are_no_cores() {
    let directory = Directory::new("other");
    let [none, text, other] = ["none", "text", "other"].map(|name| directory.0.join(name));
    fs::write(&text, "this is a text and no core file").unwrap();
    let header = [b"\x7fELF\x01\x01\x01".as_slice(), &[0; 100]].concat();
    fs::write(&other, header).unwrap();
    assert!(matches!(refused(&none, None), Error::Io { .. }));
    let error = refused(&other, None);
    assert!(matches!(error, Error::NotSupportedProgram(_)));
    let program = std::env::current_exe().unwrap();
    for (path, end) in [
        (&directory.0, "it is no plain file"),
        (&text, "is not a core file: it is no ELF file"),
        (&program, "it is a program or a library"),
    ] {
        let error = refused(path, None).to_string();
        assert!(error.ends_with(end), "{error}");
    }
}

#[test]
fn the_program_must_be_the_one_that_crashed() {
    let directory = Directory::new("program");
    let program = directory.copy_of_this_program();
    let target = Target::start_command(Command::new(&program), "aborts");
    let pid = target.pid();
    let Some(path) = directory.core_of(pid) else {
        return;
    };
    drop(target);
    check(&ProgramImage::open(&path, None).unwrap(), pid);

    let moved = directory.0.join("moved");
    fs::rename(&program, &moved).unwrap();
    let error = refused(&path, None);
    let is_program = matches!(&error, Error::NoProgram { path, .. } if *path == program);
    assert!(is_program, "{error}");
    check(&ProgramImage::open(&path, Some(&moved)).unwrap(), pid);
    let error = refused(&path, Some(Path::new("/bin/sh")));
    assert!(matches!(error, Error::OtherProgram { .. }), "{error}");
    let error = refused(&path, Some(&path.with_file_name("none")));
    assert!(matches!(error, Error::NoProgram { .. }), "{error}");

    // A changed copy stands for a program that was built anew: only an address in its header or its
    // build id differs.
    let core = ProgramImage::open(&path, Some(&moved)).unwrap();
    let mut other = fs::read(&moved).unwrap();
    let id = &core.modules()[0].build_id;
    let place = match id.is_empty() {
        true => Some(24),
        false => other.windows(id.len()).position(|bytes| bytes == id),
    };
    other[place.unwrap()] ^= 1;
    fs::write(&program, other).unwrap();
    let error = refused(&path, None);
    assert!(matches!(error, Error::OtherProgram { .. }), "{error}");
}
