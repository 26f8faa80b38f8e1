//! Figures, leaks and events.

use crate::class::with_c_text;
use crate::error::{Outcome, Status, fill, manager, needed, non_null, status};
use releasepool::PoolManager;
use releasepool::event;
use std::ffi::{c_char, c_void};

/// A function of C that gets a text, which ends with a zero.
pub type TextFn = unsafe extern "C" fn(*const c_char, *mut c_void);

/// Passes a text to a function of C.
///
/// # Safety
/// The function may be called with `data`.
pub(crate) unsafe fn tell(to: Option<TextFn>, text: &str, data: *mut c_void) -> Outcome {
    let to = needed(to, "to")?;
    // SAFETY: by the contract, the function may be called with `data`.
    with_c_text(text, |text| unsafe { to(text, data) });
    Ok(())
}

/// The figures of a manager and all threads; `rp_figures` in C.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Figures {
    threads: usize,
    live_objects: u64,
    created: u64,
    destroyed: u64,
    open_pools: usize,
    root_entries: usize,
    backlog: usize,
    inbox: usize,
    orphans: usize,
}

/// Reads the figures of a manager.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_snapshot(at: *const PoolManager, place: *mut Figures) -> Status {
    let read = || {
        non_null(place, "figures")?;
        // SAFETY: releasepool.h requires a manager, or null, as `at`.
        let snapshot = unsafe { manager(at) }.snapshot();
        let mut figures = Figures {
            threads: snapshot.threads.len(),
            live_objects: snapshot.live_objects(),
            created: snapshot.departed.created,
            destroyed: snapshot.departed.destroyed,
            orphans: snapshot.orphans,
            ..Figures::default()
        };
        for thread in &snapshot.threads {
            figures.created += thread.totals.created;
            figures.destroyed += thread.totals.destroyed;
            figures.open_pools += thread.open_pools;
            figures.root_entries += thread.root_entries;
            figures.backlog += thread.backlog;
            figures.inbox += thread.inbox;
        }
        Ok(figures)
    };
    // SAFETY: releasepool.h requires a `place` that may be written.
    unsafe { fill("rp_snapshot", place, read) }
}

/// Writes the figures of a manager as a table.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_snapshot_text(
    at: *const PoolManager,
    to: Option<TextFn>,
    data: *mut c_void,
) -> Status {
    status("rp_snapshot_text", || {
        // SAFETY: releasepool.h requires a manager, or null, as `at`, and a `to` that may be called
        // here with `data`.
        unsafe { tell(to, &manager(at).snapshot().to_string(), data) }
    })
}

/// One group of objects that are alive; `rp_leak` in C.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Leak {
    /// The name of the class.
    pub type_name: *const c_char,
    /// The number of objects.
    pub objects: usize,
    /// The bytes of these objects.
    pub bytes: usize,
    /// The number of these objects that are in pools.
    pub pooled: usize,
}

/// A function of C that gets a group.
pub type LeakFn = unsafe extern "C" fn(*const Leak, *mut c_void);

/// Reports the objects that are alive.
#[cfg(feature = "leak-detection")]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_leaks(
    to: Option<LeakFn>,
    data: *mut c_void,
    objects: *mut usize,
) -> Status {
    let tell = || {
        let report = releasepool::leaks::report();
        if let Some(to) = to {
            for group in report.groups() {
                with_c_text(group.type_name(), |type_name| {
                    let leak = Leak {
                        type_name,
                        objects: group.objects(),
                        bytes: group.bytes(),
                        pooled: group.pooled(),
                    };
                    // SAFETY: releasepool.h requires a `to` that may be called here with `data`.
                    unsafe { to(&raw const leak, data) };
                });
            }
        }
        Ok(report.objects())
    };
    // SAFETY: releasepool.h requires an `objects` that may be written, or null.
    unsafe { fill("rp_leaks", objects, tell) }
}

/// Returns an error, as the library has no ledger.
#[cfg(not(feature = "leak-detection"))]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_leaks(_: Option<LeakFn>, _: *mut c_void, _: *mut usize) -> Status {
    status("rp_leaks", || {
        let message = "the library was built without the feature `leak-detection`".into();
        Err(crate::error::Fault(Status::Unavailable, message))
    })
}

/// A function for events, and its argument.
struct EventHook(TextFn, *mut c_void);

// SAFETY: releasepool.h says that `to` may be called on any thread, so `to` and `data` must bear
// that.
unsafe impl Send for EventHook {}
// SAFETY: two threads may call `to` at once, for the same reason.
unsafe impl Sync for EventHook {}

impl EventHook {
    fn tell(&self, text: &str) {
        // SAFETY: releasepool.h requires a `to` that may be called with `data`, on any thread.
        with_c_text(text, |text| unsafe { self.0(text, self.1) });
    }
}

/// Sets the function that gets events.
#[unsafe(no_mangle)]
pub extern "C" fn rp_set_event_hook(to: Option<TextFn>, data: *mut c_void) -> Status {
    status("rp_set_event_hook", || {
        let hook = to.map(|to| {
            let hook = EventHook(to, data);
            Box::new(move |event: &event::Event| hook.tell(&event.to_string())) as event::Hook
        });
        drop(event::set_hook(hook));
        Ok(())
    })
}
