//! Ctrl-C: the main job ends early and is reported; anything else ends at once.

use signal_hook::consts::SIGINT;
use signal_hook::flag;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit code of a process that Ctrl-C has ended, as shells have it.
pub const EXIT_CODE: u8 = 130;

pub struct Interrupt {
    /// True if the next Ctrl-C ends the process.
    ends: Arc<AtomicBool>,
    /// True if there has been one.
    came: Arc<AtomicBool>,
}

impl Interrupt {
    pub fn listen() -> io::Result<Self> {
        let [ends, came] = [true, false].map(|is| Arc::new(AtomicBool::new(is)));
        // In this order, so that the first one during the job does not end the process, and the
        // second one does.
        flag::register_conditional_shutdown(SIGINT, EXIT_CODE.into(), Arc::clone(&ends))?;
        flag::register(SIGINT, Arc::clone(&ends))?;
        flag::register(SIGINT, Arc::clone(&came))?;
        Ok(Self { ends, came })
    }

    /// Runs a job, which is to stop once its argument is true.
    pub fn during<R>(&self, job: impl FnOnce(&Arc<AtomicBool>) -> R) -> R {
        // The flags order nothing else.
        self.ends.store(false, Ordering::Relaxed);
        let result = job(&self.came);
        self.ends.store(true, Ordering::Relaxed);
        result
    }

    pub fn came(&self) -> bool {
        self.came.load(Ordering::Relaxed)
    }
}
