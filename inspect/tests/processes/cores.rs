//! Core files, made in three ways, and damaged in many.

use crate::common::{self, Directory, Target};
use crate::known;
use releasepool_inspect::error::Error;
use releasepool_inspect::image::write_core::write_core;
use releasepool_inspect::image::{Image, Memory, ProgramImage};
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Plays the role: the process aborts when it is asked to.
pub fn play() -> ! {
    known::fill();
    common::serve(|_| {
        // SAFETY: the limit is a valid one.
        unsafe {
            let limit = libc::rlimit {
                rlim_cur: libc::RLIM_INFINITY,
                rlim_max: libc::RLIM_INFINITY,
            };
            libc::setrlimit(libc::RLIMIT_CORE, &raw const limit);
        }
        std::process::abort()
    })
}

/// Checks what the process that plays the role has.
fn check(image: &ProgramImage, pid: u32) {
    assert_eq!(image.pid(), Some(pid));
    known::check(image);
    let place = known::word(image, "PLACE");
    for number in [0, 1, 50_000, 99_999] {
        assert_eq!(image.word(place + number * 8), Some(number * 3));
    }
    assert!(image.present().iter().any(|range| range.contains(&place)));
    let fill = known::address(image, "fill");
    assert!(
        image
            .slice(fill, 16)
            .is_some_and(|code| code.iter().any(|&byte| byte != 0))
    );

    assert!(image.threads().len() >= 2);
    assert!(image.threads().iter().any(|thread| thread.tid == pid));
    for thread in image.threads() {
        assert!(image.word(thread.stack_pointer).is_some());
        assert!(image.word(thread.thread_pointer).is_some());
    }
    assert!(
        image
            .mappings()
            .iter()
            .any(|mapping| mapping.name == "[stack]")
    );
    assert!(!image.modules()[0].notes.is_empty());
}

/// Writes a core of a process that plays the role with the library's own writer.
fn write(target: &Target) -> (ProgramImage, Vec<u8>) {
    let image = ProgramImage::take_all(target.pid()).unwrap();
    let mut core = Cursor::new(Vec::new());
    write_core(&image, &mut core).unwrap();
    (image, core.into_inner())
}

#[test]
fn a_core_of_ours_shows_what_the_process_had() {
    let directory = Directory::new("own");
    let target = Target::start("aborts");
    let (process, bytes) = write(&target);
    drop(target);
    let path = directory.0.join("core");
    fs::write(&path, bytes).unwrap();
    let core = ProgramImage::open(&path, None).unwrap();
    check(&core, process.pid().unwrap());

    let heap = |image: &dyn Image| {
        image
            .mappings()
            .iter()
            .find(|mapping| mapping.name == "[heap]")
            .map(|heap| heap.start)
    };
    assert_eq!(heap(&core), heap(&process));
    assert_eq!(
        format!("{:?}", core.modules()),
        format!("{:?}", process.modules())
    );
    for thread in process.threads() {
        let same = core
            .threads()
            .iter()
            .find(|same| same.tid == thread.tid)
            .unwrap();
        assert_eq!(same.registers, thread.registers);
        assert_eq!(same.thread_pointer, thread.thread_pointer);
        assert_eq!(same.stack_pointer, thread.stack_pointer);
    }
    for mapping in process
        .mappings()
        .iter()
        .filter(|mapping| mapping.read && mapping.write)
    {
        for address in (mapping.start..mapping.end).step_by(4096 - 8) {
            assert_eq!(
                core.word(address),
                process.word(address),
                "{address:x} of {mapping:?}"
            );
        }
    }
}

#[test]
fn a_core_of_gdb_shows_what_the_process_had() {
    let directory = Directory::new("gcore");
    let target = Target::start("aborts");
    let prefix = directory.0.join("core");
    let result = Command::new("gcore")
        .arg("-o")
        .arg(&prefix)
        .arg(target.pid().to_string())
        .output();
    if result.is_err() {
        eprintln!("gcore is not installed");
        return;
    }
    let core = ProgramImage::open(&prefix.with_extension(target.pid().to_string()), None).unwrap();
    check(&core, target.pid());
}

#[test]
fn a_core_of_the_kernel_shows_what_the_process_had() {
    let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").unwrap();
    if pattern.starts_with(['|', '/', '@']) || pattern.contains('%') {
        eprintln!("cores go elsewhere: {pattern}");
        return;
    }
    let directory = Directory::new("kernel");
    let mut target = Target::start_by("aborts", |command| {
        command.current_dir(&directory.0);
    });
    let pid = target.pid();
    let aborted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| target.ask("abort")));
    assert!(aborted.is_err());
    let files: Vec<PathBuf> = fs::read_dir(&directory.0)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let [core] = &files[..] else {
        eprintln!("the limits permit no cores: {files:?}");
        return;
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
    assert!(
        image
            .modules()
            .iter()
            .all(|module| module.start < module.end)
    );
}

#[test]
fn truncated_cores_are_refused() {
    let directory = Directory::new("truncated");
    let target = Target::start("aborts");
    let (_, bytes) = write(&target);
    let path = directory.0.join("core");
    let ends = (0..300)
        .chain((300..bytes.len()).step_by(bytes.len() / 61))
        .chain([bytes.len() - 1]);
    for end in ends {
        fs::write(&path, &bytes[..end]).unwrap();
        match ProgramImage::open(&path, None) {
            Err(Error::TruncatedCore {
                found, expected, ..
            }) => {
                assert_eq!(found, end as u64);
                assert!(expected > found);
            }
            // Too short to tell what it was to be.
            Err(Error::NotACore { .. }) if end < 4 => {}
            Err(error) => panic!("{end}: {error}"),
            Ok(_) => panic!("{end} of {} bytes are enough", bytes.len()),
        }
    }
}

#[test]
fn damaged_cores_are_refused_or_read() {
    let directory = Directory::new("damaged");
    let target = Target::start("aborts");
    let (_, bytes) = write(&target);
    let path = directory.0.join("core");
    // Headers and notes, where all the offsets are; sparse, so that it is quick.
    let (mut refused, mut opened) = (0, 0);
    let mut random = 1u64;
    let mut next = move || {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) as usize
    };
    fs::write(&path, &bytes).unwrap();
    let file = fs::File::options().write(true).open(&path).unwrap();
    use std::os::unix::fs::FileExt;
    for round in 0..1500 {
        let within = if round % 2 == 0 { 0x400 } else { 0x4000 };
        let changed: Vec<(usize, u8)> = (0..1 + next() % 3)
            .map(|_| (next() % within, next() as u8))
            .collect();
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
            file.write_all_at(&bytes[offset..=offset], offset as u64)
                .unwrap();
        }
    }
    assert!(
        refused > 0 && opened > 0,
        "{refused} refused, {opened} opened"
    );
    use_all(&ProgramImage::open(&path, None).unwrap());
}

#[test]
fn other_files_are_no_cores() {
    let directory = Directory::new("other");
    let path = directory.0.join("core");
    let error = |path: &Path| ProgramImage::open(path, None).err().unwrap();
    assert!(matches!(error(&path), Error::Io { .. }));
    assert!(
        error(&directory.0)
            .to_string()
            .ends_with("it is no plain file")
    );
    fs::write(&path, "this is a text and no core file").unwrap();
    assert!(
        error(&path)
            .to_string()
            .ends_with("is not a core file: it is no ELF file")
    );
    let program = std::env::current_exe().unwrap();
    assert!(
        error(&program)
            .to_string()
            .ends_with("it is a program or a library")
    );
    fs::write(
        &path,
        [b"\x7fELF\x01\x01\x01".as_slice(), &[0; 100]].concat(),
    )
    .unwrap();
    assert!(matches!(error(&path), Error::NotSupportedProgram { .. }));
}

#[test]
fn the_program_must_be_the_one_that_crashed() {
    let directory = Directory::new("program");
    let program = directory.copy_of_this_program();
    let target = Target::start_program(&program, "aborts");
    let (_, bytes) = write(&target);
    let pid = target.pid();
    drop(target);
    let path = directory.0.join("core");
    fs::write(&path, bytes).unwrap();
    check(&ProgramImage::open(&path, None).unwrap(), pid);

    let moved = directory.0.join("moved");
    fs::rename(&program, &moved).unwrap();
    let error = ProgramImage::open(&path, None).err().unwrap();
    assert!(
        matches!(&error, Error::NoProgram { path, .. } if *path == program),
        "{error}"
    );
    check(&ProgramImage::open(&path, Some(&moved)).unwrap(), pid);

    let error = ProgramImage::open(&path, Some(Path::new("/bin/sh")))
        .err()
        .unwrap();
    assert!(matches!(error, Error::OtherProgram { .. }), "{error}");
    let error = ProgramImage::open(&path, Some(&path.with_file_name("none")))
        .err()
        .unwrap();
    assert!(matches!(error, Error::NoProgram { .. }), "{error}");

    // The same program built anew: only an address in its header differs, or its build id.
    let core = ProgramImage::open(&path, Some(&moved)).unwrap();
    let mut other = fs::read(&moved).unwrap();
    let id = &core.modules()[0].build_id;
    if id.is_empty() {
        other[24] ^= 1;
    } else {
        let place = other
            .windows(id.len())
            .position(|bytes| bytes == id)
            .unwrap();
        other[place] ^= 1;
    }
    fs::write(&program, other).unwrap();
    let error = ProgramImage::open(&path, None).err().unwrap();
    assert!(matches!(error, Error::OtherProgram { .. }), "{error}");
}
