//! The pools of a thread.

use super::reader::{Holder, Reader};
use super::structures::{LibPool, LibThread, PoolKind, Target};
use crate::graph::{PoolState, RootKind};
use std::collections::HashMap;

/// Reads the pools at `address`, and adds them to `thread`, which `whose` is a name of.
pub(super) fn pools(reader: &mut Reader<'_>, address: u64, whose: &str, thread: &mut LibThread) {
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
    // Threads have pools of few names, and many of each.
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

/// Returns whether this is a stack: its root pool says so.
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
        .entry((number, name))
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
    let name = reader
        .name(address.wrapping_add(of.name))
        .unwrap_or_default();
    thread.pools.push(LibPool {
        state: PoolState { name, entries },
        address,
        kind,
    });
}
