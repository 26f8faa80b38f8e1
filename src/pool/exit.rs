//! What a thread's end does with its pools.

use super::head::{Head, Kind};
use super::local::{self, Local};
use super::stack::Stack;
use super::{drain, mail, token};
use crate::event::{Event, EventKind};
use crate::object::destroy::Scope;
use crate::thread::inbox;
use crate::thread::orphans::ORPHANS;
use crate::thread::record::Record;
use crate::unwind::{FirstPanic, report};
use std::sync::Arc;

/// Generations of destructors that may feed the pools of an ending thread.
const LIMIT: u32 = 100_000;

/// Drains root and token pools until nothing comes any more, closes the inbox,
/// and hands on the closures that nobody asked for. Open guard pools are left
/// alone: references out of forgotten ones may live for ever.
///
/// No panic gets out, as it would have nowhere to go.
pub(crate) fn exit(record: &Arc<Record>) {
    let Some(attached) = local::attached() else {
        return;
    };
    // SAFETY: freed only by `detach`, below.
    let this = unsafe { attached.as_ref() };
    let mut inbox_open = true;
    for _ in 0..LIMIT {
        if empty_all(this, record) {
            continue;
        }
        if !inbox_open {
            break;
        }
        inbox_open = false;
        close_inbox(record);
    }
    for stack in stacks(this) {
        // Normally there is nothing left.
        leak(record, stack, &stack.root);
        stack.root.clear_pages(&this.pages);
    }
    while let Some(call) = this.pop_posted() {
        ORPHANS.adopt(call);
    }
    local::set_exited();
    let mut guards = 0;
    for stack in stacks(this) {
        guards += this
            .pools(stack)
            .filter(|p| p.kind.get() == Kind::Guard)
            .count();
        stack.retire(record.key());
    }
    if guards > 0 {
        Event::new(EventKind::OpenAtExit, record.label())
            .count(guards)
            .emit();
    }
    // SAFETY: the thread does not find the block any more; only guards do.
    unsafe { Local::detach(attached, guards) };
}

fn stacks(local: &Local) -> impl Iterator<Item = &Stack> {
    (0..).map_while(|n| local.nth_stack(n))
}

/// Empties all root and token pools once. Whether there was anything.
fn empty_all(local: &Local, record: &Record) -> bool {
    let mut any = false;
    for stack in stacks(local) {
        while let Some(head) = stack.last_token() {
            any |= empty(stack, head, record);
            // Destructors may have pushed others.
            if stack
                .last_token()
                .is_some_and(|last| std::ptr::eq(last, head))
            {
                token::close(stack, head);
            }
        }
        if !stack.root.is_empty() {
            any |= empty(stack, &stack.root, record);
        }
    }
    any
}

fn empty(stack: &Stack, head: &Head, record: &Record) -> bool {
    let outcome = drain::drain(head, Some(LIMIT));
    if outcome.cut.is_some() {
        leak(record, stack, head);
    }
    outcome.report() > 0
}

/// Gives up what is left in a pool, and says so.
fn leak(record: &Record, stack: &Stack, head: &Head) {
    let Some(last) = head.len().checked_sub(1).and_then(|index| head.get(index)) else {
        return;
    };
    // SAFETY: alive by the entry's reference.
    let name = unsafe { crate::object::header::header(last) }
        .class
        .type_name();
    let leaked = head.clear_pages(&stack.local().pages);
    let event = Event::new(EventKind::CutOff, record.label());
    event.pool(head.name()).of_type(name).count(leaked).emit();
}

fn close_inbox(record: &Record) {
    let mut panics = FirstPanic::default();
    let scope = Scope::enter();
    for message in record.inbox.close() {
        match message.kind() {
            inbox::Kind::Call => ORPHANS.adopt(message),
            inbox::Kind::Release => mail::run(message, &scope, &mut panics),
        }
    }
    if let Some(payload) = panics.into_first() {
        report(payload);
    }
}
