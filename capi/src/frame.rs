//! Frame loops: `rp_frame_loop`, and `rp_frame_proxy` for other threads.

use crate::error::{
    Fault, Outcome, Status, boxed, fill, free, non_null, or_default, shared, status,
};
use crate::pool::DrainedFigures;
use crate::thread::{hook, not_ending};
use releasepool::raw::own_key;
use releasepool::{
    FrameLoop,
    frame::{FrameConfig, LoopProxy, PostId},
};
use std::ffi::c_void;
use std::time::Duration;

/// A loop and the thread that may use it.
#[derive(Debug)]
pub struct Loop {
    frames: FrameLoop,
    thread: u64,
    is_ticking: bool,
}

/// The settings of a loop; `rp_frame_config` in C.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Config {
    /// The time of a frame; 0 stands for no limit.
    frame_nanoseconds: u64,
    /// The least time of a drain; 0 stands for the default.
    min_drain_nanoseconds: u64,
}

/// The figures of a frame; `rp_frame_report` in C.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct Report {
    index: u64,
    closures: usize,
    busy_nanoseconds: u64,
    drained: DrainedFigures,
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Returns the loop of an argument.
///
/// # Safety
/// The pointer is null, or from [`rp_frame_loop_new`] and not freed.
unsafe fn frame_loop(at: *mut Loop) -> Outcome<*mut Loop> {
    let at = non_null(at, "loop")?.as_ptr();
    // SAFETY: by the contract, the loop was not freed; `thread` never changes.
    if unsafe { (*at).thread } != own_key() {
        return Err(Fault(
            Status::WrongThread,
            "the loop belongs to another thread: use an rp_frame_proxy".into(),
        ));
    }
    // SAFETY: by the contract, the loop was not freed; this is its thread.
    if unsafe { (*at).is_ticking } {
        return Err(Fault(
            Status::Draining,
            "the loop is in the middle of a tick further up the call stack".into(),
        ));
    }
    Ok(at)
}

/// Makes a loop for the calling thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_frame_loop_new(config: *const Config) -> *mut Loop {
    boxed("rp_frame_loop_new", || {
        let mut settings = FrameConfig::new();
        // SAFETY: releasepool.h requires an `rp_frame_config`, or null, at `config`.
        if let Some(config) = unsafe { config.as_ref() } {
            settings = match config.frame_nanoseconds {
                0 => settings.unlimited(),
                time => settings.frame_time(Duration::from_nanos(time)),
            };
            if config.min_drain_nanoseconds != 0 {
                settings = settings.min_drain(Duration::from_nanos(config.min_drain_nanoseconds));
            }
        }
        // Making a loop on a thread that is ending panics.
        not_ending()?;
        let frames = FrameLoop::new(settings);
        Ok(Loop {
            frames,
            thread: own_key(),
            is_ticking: false,
        })
    })
}

/// Ends a loop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_frame_loop_free(at: *mut Loop) -> Status {
    status("rp_frame_loop_free", || {
        // SAFETY: releasepool.h requires a loop of `rp_frame_loop_new` as `at`, which the caller
        // gives up.
        drop(unsafe { Box::from_raw(frame_loop(at)?) });
        Ok(())
    })
}

/// Makes one frame.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_frame_loop_tick(
    at: *mut Loop,
    f: Option<unsafe extern "C" fn(*mut c_void)>,
    data: *mut c_void,
    report: *mut Report,
) -> Status {
    struct Ticking(*mut Loop);
    impl Drop for Ticking {
        fn drop(&mut self) {
            // SAFETY: the loop exists, as the functions that might free it return an error now.
            unsafe { (*self.0).is_ticking = false };
        }
    }
    let tick = || {
        // SAFETY: releasepool.h requires `at` to be a loop that was not freed.
        let at = unsafe { frame_loop(at) }?;
        // SAFETY: this is the loop's thread, and no other call uses the loop (`is_ticking`).
        unsafe { (*at).is_ticking = true };
        let _ticking = Ticking(at);
        // SAFETY: this is the loop's thread. While it ticks, other calls on it only read `thread`
        // and `is_ticking`.
        let frames = unsafe { &mut (*at).frames };
        let made = frames.tick(|_| {
            if let Some(f) = f {
                // SAFETY: releasepool.h requires an `f` that may be called here with `data`.
                unsafe { f(data) };
            }
        });
        Ok(Report {
            index: made.index,
            closures: made.closures,
            busy_nanoseconds: nanoseconds(made.busy),
            drained: made.drained.into(),
        })
    };
    // SAFETY: releasepool.h requires a `report` that may be written, or null.
    unsafe { fill("rp_frame_loop_tick", report, tick) }
}

/// Sets the function that tells the host to make a frame.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_frame_loop_set_wake_hook(
    at: *mut Loop,
    f: Option<unsafe extern "C" fn(*mut c_void)>,
    data: *mut c_void,
) -> Status {
    status("rp_frame_loop_set_wake_hook", || {
        // SAFETY: releasepool.h requires `at` to be a loop that was not freed; on its thread, outside
        // of a tick, no other call uses it.
        let frames = unsafe { &mut (*frame_loop(at)?).frames };
        match f {
            None => frames.clear_wake_hook(),
            Some(_) => {
                let hook = hook(f, data)?;
                frames.set_wake_hook(move || hook.call());
            }
        }
        Ok(())
    })
}

/// Returns a handle of a loop for other threads.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_frame_proxy_new(at: *mut Loop) -> *mut LoopProxy {
    boxed("rp_frame_proxy_new", || {
        // SAFETY: releasepool.h requires `at` to be a loop that was not freed; on its thread, outside
        // of a tick, no other call changes it.
        let proxy = unsafe { (*frame_loop(at)?).frames.proxy() };
        Ok(proxy)
    })
}

/// Gives a handle up.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_frame_proxy_free(at: *mut LoopProxy) -> Status {
    // SAFETY: releasepool.h requires a handle of `rp_frame_proxy_new` as `at`, which the caller
    // gives up.
    unsafe { free("rp_frame_proxy_free", at, "proxy") }
}

/// Makes a loop call a function.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_frame_proxy_post(
    at: *const LoopProxy,
    f: Option<unsafe extern "C" fn(*mut c_void)>,
    data: *mut c_void,
) -> Status {
    status("rp_frame_proxy_post", || {
        // SAFETY: releasepool.h requires `at` to be a handle that was not freed.
        let proxy = unsafe { shared(at, "proxy") }?;
        let f = hook(f, data)?;
        proxy
            .post(move || f.call())
            .map_err(|error| Fault(Status::Closed, error.to_string()))
    })
}

/// Makes a loop call a function later; returns the post, which [`rp_post_free`] frees.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_frame_proxy_post_after(
    at: *const LoopProxy,
    nanoseconds: u64,
    f: Option<unsafe extern "C" fn(*mut c_void)>,
    data: *mut c_void,
) -> *mut PostId {
    boxed("rp_frame_proxy_post_after", || {
        // SAFETY: releasepool.h requires `at` to be a handle that was not freed.
        let proxy = unsafe { shared(at, "proxy") }?;
        let f = hook(f, data)?;
        let posted = proxy.post_after(Duration::from_nanos(nanoseconds), move || f.call());
        let id = posted.map_err(|error| Fault(Status::Closed, error.to_string()))?;
        Ok(id)
    })
}

/// Cancels a post.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_frame_proxy_cancel(at: *const LoopProxy, post: *mut PostId) -> bool {
    or_default("rp_frame_proxy_cancel", || {
        // SAFETY: releasepool.h requires a handle as `at` and a post as `post`, neither of which
        // was freed.
        unsafe { Ok(shared(at, "proxy")?.cancel(*non_null(post, "post")?.as_ref())) }
    })
}

/// Frees the handle of a post, which does not cancel the post.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rp_post_free(post: *mut PostId) -> Status {
    // SAFETY: releasepool.h requires a post of `rp_frame_proxy_post_after` as `post`, which the
    // caller gives up.
    unsafe { free("rp_post_free", post, "post") }
}
