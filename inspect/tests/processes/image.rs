//! Tests what an image of a running process shows.

use crate::common::{self, Target};
use crate::known::{self, MARKER, PLACE, UNTOUCHED, address, word};
use releasepool_inspect::image::{Image, Memory, ProgramImage, Thread};
use std::cell::Cell;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::atomic::Ordering;

thread_local! {
    static LOCAL: Cell<u64> = const { Cell::new(0x10ca1) };
}

fn map(bytes: usize, flags: i32, file: i32) -> *mut u64 {
    let access = libc::PROT_READ | libc::PROT_WRITE;
    // SAFETY: the kernel chooses the place of a new mapping, where nothing else is.
    let start = unsafe { libc::mmap(std::ptr::null_mut(), bytes, access, flags, file, 0) };
    assert_ne!(start, libc::MAP_FAILED);
    start.cast()
}

/// Plays a role.
pub fn play(role: &str) {
    match role {
        "simple" => {
            known::fill();
            common::serve(|_| (&raw const UNTOUCHED[8191]).addr().to_string())
        }
        "threads" => {
            for number in 0..3u64 {
                std::thread::Builder::new()
                    .name(format!("worker {number}"))
                    .spawn(move || {
                        LOCAL.set(0x10ca_1000 + number);
                        MARKER.fetch_add(1, Ordering::SeqCst);
                        let on_stack = std::hint::black_box([0xabcd_0000 + number; 4]);
                        loop {
                            std::thread::park();
                            std::hint::black_box(&on_stack);
                        }
                    })
                    .unwrap();
            }
            while MARKER.load(Ordering::SeqCst) < 3 {
                std::thread::yield_now();
            }
            common::serve(|_| String::new())
        }
        "vectors" => {
            let spin = || loop {
                let value = std::hint::black_box(0x7ec7_0123_4567_89ab_u64);
                MARKER.store(1, Ordering::SeqCst);
                #[cfg(target_arch = "x86_64")]
                // SAFETY: the code clobbers only the register that it names, and then loops for
                // ever without accesses to memory.
                unsafe {
                    std::arch::asm!(
                        "movq xmm7, {value}", "2: pause", "jmp 2b",
                        value = in(reg) value, out("xmm7") _,
                    );
                }
                #[cfg(target_arch = "aarch64")]
                // SAFETY: this code, too, clobbers only the register that it names, and accesses no
                // memory.
                unsafe {
                    std::arch::asm!(
                        "fmov d7, {value}", "2: yield", "b 2b",
                        value = in(reg) value, out("v7") _,
                    );
                }
            };
            std::thread::spawn(spin);
            while MARKER.load(Ordering::SeqCst) == 0 {
                std::thread::yield_now();
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
            common::serve(|_| String::new())
        }
        "mapped" => {
            let file = std::env::var("MAPPED").unwrap();
            let file = std::fs::File::open(file).unwrap();
            let shared = map(1 << 16, libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1);
            let private = map(1 << 16, libc::MAP_PRIVATE, file.as_raw_fd());
            // SAFETY: both mappings are larger than what is written.
            unsafe {
                shared.write(1);
                private.write(2);
            }
            common::serve(|_| format!("{} {}", shared.addr(), private.addr()))
        }
        "reserved" => {
            const SIZE: usize = 1 << 38;
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
            let start = map(SIZE, flags, -1);
            // SAFETY: the words are within the mapping.
            unsafe {
                start.write(1);
                start.add(SIZE / 16).write(2);
                start.add(SIZE / 8 - 1).write(3);
                PLACE.store(start.addr(), Ordering::Relaxed);
            }
            common::serve(|_| String::new())
        }
        _ => {}
    }
}

#[test]
fn statics_and_the_heap_have_their_values() {
    let target = Target::start("simple");
    let image = ProgramImage::take(target.pid()).unwrap();
    known::check(&image);
    let place = word(&image, "PLACE");
    let words: Vec<u64> = (0..100_000).map(|number| number * 3).collect();
    let found = image.bytes(place, 800_000).expect("the memory is there");
    let found = found.chunks_exact(8).map(|word| word.try_into().unwrap());
    assert!(found.map(u64::from_ne_bytes).eq(words));
    // The vector is data, except for the pages that have the heads of chunks around it.
    let middle = place + 400_000;
    assert!(!image.present().iter().any(|range| range.contains(&middle)));
    assert!(image.stopped().kept < image.stopped().bytes - 400_000);
    assert_eq!(image.pid(), Some(target.pid()));
}

#[test]
fn statics_have_names() {
    let target = Target::start("simple");
    let image = ProgramImage::take(target.pid()).unwrap();
    let symbols = image.symbols();
    let untouched = address(&image, "UNTOUCHED");
    let name = Some("processes::known::UNTOUCHED");
    for (offset, is_inside) in [(0, true), (65535, true), (65536, false)] {
        let found = symbols.static_at(untouched + offset);
        assert_eq!(found.as_deref() == name, is_inside, "{found:?}");
    }
    assert_eq!(symbols.static_at(word(&image, "PLACE")), None);
    let fill = address(&image, "fill");
    assert_eq!(symbols.static_at(fill), None);
}

#[test]
fn what_was_not_copied_is_still_there_after_the_process_has_ended() {
    let mut target = Target::start("simple");
    let untouched = target.ask("where").parse().unwrap();
    let image = ProgramImage::take(target.pid()).unwrap();
    drop(target);
    assert_eq!(image.word(untouched), Some(0x0dd));
    known::check(&image);
    for module in image.modules() {
        let mut start = [0; 4];
        assert_eq!(image.read(module.start, &mut start), 4, "{}", module.path);
        assert_eq!(start, *b"\x7fELF");
    }
}

#[test]
fn a_program_whose_file_was_deleted_is_read() {
    let directory = common::Directory::new("deleted");
    let program = directory.copy_of_this_program();
    let target = Target::start_command(Command::new(&program), "simple");
    std::fs::remove_file(&program).unwrap();
    let image = ProgramImage::take(target.pid()).unwrap();
    assert_eq!(word(&image, "MARKER"), 0xfeed_f00d);
    assert_eq!(image.modules()[0].path, program.to_str().unwrap());
    drop(target);
    assert_eq!(word(&image, "UNTOUCHED"), 0x0dd);
}

#[test]
fn modules_have_notes_and_thread_local_storage() {
    let target = Target::start("simple");
    let image = ProgramImage::take(target.pid()).unwrap();
    let modules = image.modules();
    let own = std::env::current_exe().unwrap().canonicalize().unwrap();
    assert_eq!(modules[0].path, own.to_str().unwrap());
    assert!(modules[1..].is_sorted_by_key(|module| module.start));
    for pair in modules[1..].windows(2) {
        assert!(pair[0].end <= pair[1].start, "{pair:?}");
    }
    let fill = address(&image, "fill");
    assert!((modules[0].start..modules[0].end).contains(&fill));
    assert!(!modules[0].notes.is_empty());
    for note in modules.iter().flat_map(|module| &module.notes) {
        let description = image.bytes(note.address, note.len as usize);
        let description = description.unwrap_or_else(|| panic!("{note:?}"));
        if note.name == "GNU" && note.kind == 3 {
            let module = modules.iter().find(|module| module.build_id == description);
            assert!(module.is_some_and(|module| module.notes.contains(note)));
        }
    }
    let (_, size, align) = modules[0].tls.unwrap();
    assert!(size >= 8 && align.is_power_of_two());
}

#[test]
fn threads_have_registers_names_and_stacks() {
    let target = Target::start("threads");
    let image = ProgramImage::take(target.pid()).unwrap();
    assert_eq!(image.stopped().threads, image.threads().len());
    for number in 0..3 {
        let name = format!("worker {number}");
        let mut threads = image.threads().iter();
        let thread = threads.find(|thread| thread.name.as_ref() == Some(&name));
        let thread = thread.unwrap();
        let mut mappings = image.mappings().iter();
        let mapping = mappings.find(|map| (map.start..map.end).contains(&thread.stack_pointer));
        let mapping = mapping.expect("the stack pointer is in a mapping");
        assert!(mapping.read && mapping.write);
        assert!(thread.registers.contains(&thread.stack_pointer));
        let stack = (mapping.end - thread.stack_pointer) as usize;
        let words = image.bytes(thread.stack_pointer, stack).unwrap();
        let on_stack = (0xabcd_0000_u64 + number).to_ne_bytes().repeat(4);
        assert!(words.windows(32).any(|words| words == on_stack));
        // The program's thread-local storage is next to the thread pointer.
        let program = &image.modules()[0];
        let (_, size, align) = program.tls.unwrap();
        let start = if cfg!(target_arch = "x86_64") {
            thread.thread_pointer - size.next_multiple_of(align)
        } else {
            (thread.thread_pointer + 16).next_multiple_of(align)
        };
        let mut offsets = (0..size).step_by(8);
        let local = 0x10ca_1000 + number;
        let offset = offsets.find(|offset| image.word(start + offset) == Some(local));
        let offset = offset.expect("it has the variable");
        let name = image.symbols().thread_local_at(program.start, offset);
        assert!(name.unwrap().contains("LOCAL"));
    }
}

#[test]
fn vector_registers_are_among_the_registers() {
    let target = Target::start("vectors");
    let image = ProgramImage::take(target.pid()).unwrap();
    let value = 0x7ec7_0123_4567_89ab;
    // Looks only behind the general registers, one of which has the value, too.
    let found = |thread: &Thread| thread.registers.iter().skip(34).any(|&word| word == value);
    assert!(image.threads().iter().any(found));
}

#[test]
fn reserved_memory_costs_nothing() {
    let target = Target::start("reserved");
    let image = ProgramImage::take(target.pid()).unwrap();
    assert!(image.stopped().bytes < 64 << 20, "{:?}", image.stopped());
    let place = word(&image, "PLACE");
    let half = 1 << 37;
    let words = [
        (0, 1),
        (half, 2),
        (2 * half - 8, 3),
        (half / 2, 0),
        (half - 8, 0),
    ];
    for (offset, word) in words {
        assert_eq!(image.word(place + offset), Some(word), "{offset:#x}");
    }
    let present = image.present();
    let bytes: u64 = present.iter().map(|range| range.end - range.start).sum();
    assert!(bytes < 256 << 20, "{bytes}");
    assert!(present.is_sorted_by_key(|range| range.start));
}

#[test]
fn shared_memory_and_changed_pages_of_files_are_copied() {
    let directory = common::Directory::new("mapped");
    let file = directory.0.join("file");
    std::fs::write(&file, [7; 1 << 16]).unwrap();
    let mut target = Target::start_by("mapped", |command| {
        command.env("MAPPED", &file);
    });
    let answer = target.ask("where");
    let (shared, private) = answer.split_once(' ').unwrap();
    let (shared, private): (u64, u64) = (shared.parse().unwrap(), private.parse().unwrap());
    let image = ProgramImage::take(target.pid()).unwrap();
    let sevens = Some(0x0707_0707_0707_0707);
    assert_eq!(image.word(shared), Some(1));
    assert_eq!(image.word(shared + 8192), Some(0));
    assert_eq!(image.word(private), Some(2));
    assert_eq!(image.word(private + 8), sevens);
    // This page was not copied, but is read from the process.
    assert_eq!(image.word(private + 8192), sevens);
    drop(target);
    assert_eq!(image.word(shared), Some(1));
    assert_eq!(image.word(private), Some(2));
    assert_eq!(image.word(private + 8192), None);
}
