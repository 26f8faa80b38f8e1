//! How often the retains of one object move from one thread to another: part of the object's record.

use std::time::Duration;

/// The number of moves within [`WITHIN`] for which an object is reported. A move is a sampled retain on
/// another thread than the sample before it.
const MOVES: u32 = 32;

const WITHIN: Duration = Duration::from_secs(1);

/// How often the retains of an object have moved from one thread to another.
pub(super) struct Moves {
    /// The thread of the last sampled retain, or that created the object.
    thread: u64,
    moves: u32,
    /// When the count of moves began, in milliseconds.
    since: u32,
}

impl Moves {
    pub(super) const fn new(thread: u64) -> Self {
        Self {
            thread,
            moves: 0,
            since: 0,
        }
    }

    /// Notes a retain; returns whether the object is to be reported.
    pub(super) fn retained(&mut self, thread: u64, now: Duration) -> bool {
        if std::mem::replace(&mut self.thread, thread) == thread {
            return false;
        }
        // Wraps around after 49 days; a difference is right all the same.
        let now = now.as_millis() as u32;
        if self.moves == 0 || u128::from(now.wrapping_sub(self.since)) > WITHIN.as_millis() {
            (self.moves, self.since) = (0, now);
        }
        self.moves += 1;
        let is_contended = self.moves == MOVES;
        if is_contended {
            self.moves = 0;
        }
        is_contended
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns how many of `n` retains, which two threads make by turns, report the object.
    fn reports(moves: &mut Moves, n: u32, step: Duration) -> usize {
        let mut now = Duration::ZERO;
        let mut retain = |i| {
            now += step;
            moves.retained(1 + u64::from(i % 2), now)
        };
        (0..n).filter(|&i| retain(i)).count()
    }

    #[test]
    fn threads_that_take_turns_are_reported_and_one_thread_is_not() {
        let step = Duration::from_millis(1);
        assert_eq!(reports(&mut Moves::new(1), 10 * MOVES + 1, step), 10);
        let mut moves = Moves::new(1);
        assert!((0..10 * MOVES).all(|_| !moves.retained(1, step)));
        // Another thread takes over once.
        assert!((0..10 * MOVES).all(|_| !moves.retained(2, step)));
    }

    #[test]
    fn turns_that_take_long_are_not_reported() {
        let step = WITHIN / (MOVES - 2);
        assert_eq!(reports(&mut Moves::new(1), 10 * MOVES, step), 0);
    }
}
