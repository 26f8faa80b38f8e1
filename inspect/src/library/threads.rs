//! Threads with their inboxes and pools; pools and messages of ended threads; retired references.

use super::reader::{Holder, LibPool, LibThread, PoolKind, Reader, Target};
use crate::graph::{PoolState, RootKind};
use std::collections::HashMap;

/// The most slots of the registry that are read.
const MOST_SLOTS: u64 = 1 << 24;

/// The most structures of a roll (see `RollLayout`) that are read.
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
    // The record of a thread that has left stays until the slot is used again: it is the library's
    // memory, too.
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

/// Returns the addresses of the structures in a roll (`RollLayout`); their links are at `link`.
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

/// Reads the messages of threads that have ended.
pub(super) fn orphans(reader: &mut Reader<'_>, address: u64) {
    let of = reader.layout.orphans;
    let lists = [
        (of.releases, "orphaned releases"),
        (of.calls, "orphaned closures"),
    ];
    for (at, text) in lists {
        let label = reader.label(text.to_owned());
        reader.messages(address, at, RootKind::Orphan, label);
    }
}

/// Reads the references that slots have retired: in batches, and in the queues of threads.
pub(super) fn retired(reader: &mut Reader<'_>, places: u64, epoch: u64) {
    let label = reader.label("references that slots gave up".to_owned());
    let (place, of) = (reader.layout.retired, reader.layout.participant);
    for n in 0..place.count {
        let at = n * place.size + place.batch;
        reader.messages(places, at, RootKind::Orphan, label);
    }
    let mut participant = reader.field(epoch, reader.layout.epoch.first);
    while participant != 0 && reader.is_new(participant) && !reader.gives_up() {
        reader.own(participant, of.size);
        let queue = reader.field(participant, of.queue);
        reader.queue(queue, RootKind::Orphan, label);
        let mut pin = reader.field(participant, of.pins);
        while pin != 0 && reader.is_new(pin) && !reader.gives_up() {
            reader.own(pin, reader.layout.pin.size);
            pin = reader.field(pin, reader.layout.pin.next);
        }
        participant = reader.field(participant, of.next);
    }
}

/// Reads the values whose home has ended; returns how many the library counts.
pub(super) fn kept(reader: &mut Reader<'_>, address: u64) -> u64 {
    let of = reader.layout.kept;
    let label = reader.label("values whose home has ended".to_owned());
    reader.messages(address, of.objects, RootKind::Kept, label);
    reader.field(address, of.count)
}

/// Reads the pools at `address`, and adds them to `thread`, which labels call `whose`.
fn pools(reader: &mut Reader<'_>, address: u64, whose: &str, thread: &mut LibThread) {
    let layout = reader.layout;
    let of = layout.pools;
    thread.pools_at = address;
    reader.own(address, of.size);
    let mut stacks = vec![address.wrapping_add(of.first)];
    let (_, others) = reader.list_of_words(address.wrapping_add(of.others));
    stacks.extend(others);
    stacks.retain(|&stack| is_stack(reader, stack));
    for &stack in &stacks {
        root_and_backlog(reader, stack, whose, thread);
    }
    let (_, chunks) = reader.list_of_words(address.wrapping_add(of.chunks));
    // Pools of one name share a label: threads have many pools, but few names.
    let mut labels = HashMap::new();
    for chunk in chunks {
        reader.own(chunk, of.chunk_len * layout.pool.size);
        for i in 0..of.chunk_len {
            if reader.gives_up() {
                return;
            }
            let pool = chunk.wrapping_add(i * layout.pool.size);
            open_pool(reader, pool, &stacks, whose, &mut labels, thread);
        }
    }
    let mut page = reader.field(address, of.spare_pages);
    while page != 0 && reader.is_new(page) {
        reader.own(page, layout.page.size);
        page = reader.field(page, layout.page.prev);
    }
    let label = reader.label(format!("messages that {whose} has taken out of its inbox"));
    for (field, kind) in [
        (of.newest_first, RootKind::Backlog),
        (of.oldest_first, RootKind::Backlog),
        (of.posted, RootKind::Inbox),
    ] {
        reader.messages(address, field, kind, label);
    }
}

/// Returns whether `stack` is a stack of pools: its root pool must refer to it.
fn is_stack(reader: &mut Reader<'_>, stack: u64) -> bool {
    if reader.gives_up() {
        return false;
    }
    let layout = reader.layout;
    let root = stack.wrapping_add(layout.stack.root);
    let is = reader.byte(root.wrapping_add(layout.pool.kind)) == layout.pool_kind.root
        && reader.field(root, layout.pool.stack) == stack;
    if is {
        reader.own(stack, layout.stack.size);
    } else {
        reader.unfit("a list of stacks leads to something else");
    }
    is
}

/// Reads the root pool and the backlog of a stack.
fn root_and_backlog(reader: &mut Reader<'_>, stack: u64, whose: &str, thread: &mut LibThread) {
    let layout = reader.layout;
    let root = stack.wrapping_add(layout.stack.root);
    let holder = Holder {
        kind: RootKind::Pool,
        label: reader.label(format!("root pool of {whose}")),
        pool: root,
    };
    let entries = reader.entries(root.wrapping_add(layout.pool.entries), holder);
    thread.pools.push(LibPool {
        state: PoolState {
            name: "root".to_owned(),
            entries,
        },
        address: root,
        kind: PoolKind::Root,
    });
    let label = reader.label(format!("backlog of {whose}"));
    let holder = Holder {
        kind: RootKind::Backlog,
        label,
        pool: 0,
    };
    let lists = stack.wrapping_add(layout.stack.backlog);
    for list in [lists, lists.wrapping_add(layout.list.size)] {
        let (items, len) = reader.list(list, layout.item.size);
        for i in 0..len {
            if reader.gives_up() {
                return;
            }
            let item = items.wrapping_add(i * layout.item.size);
            thread.state.backlog += backlog_item(reader, item, holder);
        }
    }
}

/// Reads an item of a backlog; returns how many releases it stands for.
fn backlog_item(reader: &mut Reader<'_>, item: u64, holder: Holder) -> u64 {
    let (of, kinds) = (reader.layout.item, reader.layout.item_kind);
    let kind = reader.field(item, of.kind);
    if kind == kinds.entries {
        return reader.entries(item.wrapping_add(of.entries), holder);
    }
    if kind != kinds.dead {
        reader.unfit("an item of a backlog is of no known kind");
        return 0;
    }
    let (at, dead) = reader.list_of_words(item.wrapping_add(of.dead));
    let n = dead.len() as u64;
    for (i, thin) in (0..).zip(dead) {
        reader.entry(holder, Target::Object(thin), at.wrapping_add(i * 8), 0);
    }
    n
}

/// Reads a pool, if it is open.
fn open_pool(
    reader: &mut Reader<'_>,
    address: u64,
    stacks: &[u64],
    whose: &str,
    labels: &mut HashMap<(u64, String), u32>,
    thread: &mut LibThread,
) {
    let (of, kinds) = (reader.layout.pool, reader.layout.pool_kind);
    let number = reader.byte(address.wrapping_add(of.kind));
    let kind = if number == kinds.guard {
        PoolKind::Guard
    } else if number == kinds.token {
        PoolKind::Token
    } else {
        if number != kinds.free {
            reader.unfit("a pool is of no known kind");
        }
        // A closed pool may keep an empty page.
        let entries = address.wrapping_add(of.entries);
        let page = reader.field(entries, reader.layout.entries.page);
        if page != 0 && reader.is_new(page) {
            reader.own(page, reader.layout.page.size);
        }
        return;
    };
    let stack = reader.field(address, of.stack);
    if !stacks.contains(&stack) {
        return reader.unfit("a pool belongs to no stack of its thread");
    }
    let name = reader
        .name(address.wrapping_add(of.name))
        .unwrap_or_default();
    let label = *labels
        .entry((number, name.clone()))
        .or_insert_with_key(|(_, name)| {
            reader.label(match (name.as_str(), kind) {
                ("", PoolKind::Token) => format!("token pool of {whose}"),
                ("", _) => format!("unnamed pool of {whose}"),
                (name, _) => format!("pool {name:?} of {whose}"),
            })
        });
    let holder = Holder {
        kind: RootKind::Pool,
        label,
        pool: address,
    };
    let entries = reader.entries(address.wrapping_add(of.entries), holder);
    thread.pools.push(LibPool {
        state: PoolState { name, entries },
        address,
        kind,
    });
}
