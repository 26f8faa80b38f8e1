//! Threads, their inboxes, and what has no thread any more.

use super::pools::pools;
use super::reader::Reader;
use super::structures::LibThread;
use crate::graph::RootKind;

/// The most slots of the registry that are read.
const MOST_SLOTS: u64 = 1 << 24;

/// The most structures of a roll that are read.
const MOST_IN_ROLL: u64 = 1 << 24;

/// Reads all threads that have not left, by their slots.
pub(super) fn threads(reader: &mut Reader<'_>, registry: u64) -> Vec<LibThread> {
    let layout = reader.layout;
    let of = layout.registry;
    let mut left = reader.field(registry, of.len);
    if left > MOST_SLOTS {
        reader.unfit("the registry of threads has too many slots");
        left = 0;
    }
    let mut threads = Vec::new();
    let mut slots = of.first;
    for bucket in 0..of.bucket_count {
        if left == 0 || reader.gives_up() {
            break;
        }
        let here = left.min(slots);
        let at = reader.field(registry, of.buckets + bucket * 8);
        if at != 0 {
            reader.own(at, slots * layout.slot.size);
            for i in 0..here {
                threads.extend(slot(reader, at.wrapping_add(i * layout.slot.size)));
            }
        }
        left -= here;
        slots *= 2;
    }
    threads
}

/// Reads the thread of a slot, if it has not left.
fn slot(reader: &mut Reader<'_>, address: u64) -> Option<LibThread> {
    let layout = reader.layout;
    let of = layout.slot;
    let state = reader.field(address, of.state);
    let record = reader.field(address, of.record);
    if record == 0 || reader.gives_up() {
        return None;
    }
    // Also that of a thread that has left, which stays until the slot is used again.
    reader.own(record, layout.record.size);
    if state & of.phase_mask != of.live {
        return None;
    }
    let generation = reader.half(record.wrapping_add(layout.record.key_generation));
    if generation != state >> 32 {
        reader.unfit("a thread is entering or leaving");
        return None;
    }
    Some(thread(reader, record))
}

/// Reads a thread by its record.
fn thread(reader: &mut Reader<'_>, record: u64) -> LibThread {
    let of = reader.layout.record;
    let mut thread = LibThread {
        record,
        ..LibThread::default()
    };
    let whose = describe(reader, record, &mut thread);
    let state = &mut thread.state;
    let tid = reader.field(record, of.tid);
    state.tid = u32::try_from(tid).ok().filter(|&tid| tid != 0);
    (state.created, state.destroyed) = reader.tally(record.wrapping_add(of.tally));
    let frames = reader.field(record, of.frames);
    state.frames = (frames > 0).then_some(frames);
    state.last_frame_nanos = state.frames.map(|_| reader.field(record, of.last_frame));
    for [sent, refused, done] in [
        [of.releases_sent, of.releases_refused, of.releases_done],
        [of.calls_sent, of.calls_refused, of.calls_done],
    ] {
        let gone = reader.field(record, done) + reader.field(record, refused);
        let sent = reader.field(record, sent);
        state.inbox = state.inbox.saturating_add(sent.saturating_sub(gone));
    }
    let label = reader.label(format!("inbox of {whose}"));
    for head in [of.releases, of.calls] {
        reader.messages(record, head, RootKind::Inbox, label);
    }
    let at = reader.field(record, of.pools);
    if at != 0 {
        add_pools(reader, at, &whose, &mut thread);
    }
    thread
}

/// Puts name and key into `thread`; returns what labels call it.
fn describe(reader: &mut Reader<'_>, record: u64, thread: &mut LibThread) -> String {
    let of = reader.layout.record;
    let index = reader.half(record.wrapping_add(of.key_index));
    let generation = reader.half(record.wrapping_add(of.key_generation));
    thread.state.key = index << 32 | generation;
    thread.state.name = reader.name(record.wrapping_add(of.name));
    match &thread.state.name {
        Some(name) => format!("thread {name:?}"),
        None => format!("thread #{index}.{generation}"),
    }
}

fn add_pools(reader: &mut Reader<'_>, at: u64, whose: &str, thread: &mut LibThread) {
    pools(reader, at, whose, thread);
    thread.state.pools = thread.pools.iter().map(|pool| pool.state.clone()).collect();
}

/// Returns the addresses of the structures in a roll, whose link is at this offset in them.
pub(super) fn roll(reader: &mut Reader<'_>, address: u64, link: u64) -> Vec<u64> {
    let layout = reader.layout;
    let mut found = Vec::new();
    let mut at = reader.field(address, layout.roll.first);
    while at != 0 && (found.len() as u64) < MOST_IN_ROLL && reader.is_new(at) {
        found.push(at.wrapping_sub(link));
        at = reader.field(at, layout.link.next);
    }
    found
}

/// Reads the pools of threads that have ended.
pub(super) fn detached(reader: &mut Reader<'_>, address: u64) -> Vec<LibThread> {
    let of = reader.layout.pools;
    let mut threads = Vec::new();
    for at in roll(reader, address, of.link) {
        let mut thread = LibThread::default();
        let record = reader.field(at, of.record);
        let whose = if record == 0 {
            "a thread that has ended".to_owned()
        } else {
            thread.record = record;
            reader.own(record, reader.layout.record.size);
            let whose = describe(reader, record, &mut thread);
            format!("{whose}, which has ended")
        };
        add_pools(reader, at, &whose, &mut thread);
        threads.push(thread);
    }
    threads
}

/// Reads the messages of threads that have ended, and what slots gave up.
pub(super) fn orphans(reader: &mut Reader<'_>, address: u64) {
    let of = reader.layout.orphans;
    let sealed = (0..of.sealed_count).map(|i| of.sealed + i * 8);
    let lists = [
        (of.releases, "orphaned releases"),
        (of.calls, "orphaned closures"),
        (of.retired, "references that slots gave up"),
    ];
    let sealed = sealed.map(|at| (at, "references that slots gave up"));
    for (at, text) in lists.into_iter().chain(sealed) {
        let label = reader.label(text.to_owned());
        reader.messages(address, at, RootKind::Orphan, label);
    }
}

/// Reads the values whose home has ended; returns how many the library counts.
pub(super) fn kept(reader: &mut Reader<'_>, address: u64) -> u64 {
    let of = reader.layout.kept;
    let label = reader.label("values whose home has ended".to_owned());
    reader.messages(address, of.objects, RootKind::Kept, label);
    reader.field(address, of.count)
}
