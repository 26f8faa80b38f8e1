//! The state of the live view.

use crate::report::wire::{Top, Type};
use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Instant;

/// The order of types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    Bytes,
    Objects,
    Rate,
    Name,
}

/// The table that is shown below the summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum View {
    Types,
    Threads,
}

/// The last sample, and how to show it.
pub struct State {
    pub target: String,
    pub top: Option<Top>,
    /// When the last sample was taken.
    taken: Option<Instant>,
    /// How many more objects there are per second, in all.
    pub rate: Option<f64>,
    /// Why there are no more samples.
    pub ended: Option<String>,
    pub sort: Sort,
    pub view: View,
    pub scroll: usize,
}

impl State {
    pub fn new(target: String) -> Self {
        Self {
            target,
            top: None,
            taken: None,
            rate: None,
            ended: None,
            sort: Sort::Bytes,
            view: View::Types,
            scroll: 0,
        }
    }

    /// Adds a sample, with rates relative to the one before.
    pub fn add(&mut self, at: Instant, mut top: Top) {
        if let (Some(before), Some(taken)) = (&self.top, self.taken) {
            let seconds = (at - taken).as_secs_f64().max(1e-3);
            let known = before.types.iter();
            let known: HashMap<&str, u64> = known
                .map(|found| (found.name.as_str(), found.objects))
                .collect();
            for found in &mut top.types {
                let was = known.get(found.name.as_str()).copied().unwrap_or(0);
                found.rate = Some((found.objects as f64 - was as f64) / seconds);
            }
            self.rate = Some((top.objects as f64 - before.objects as f64) / seconds);
        }
        self.top = Some(top);
        self.taken = Some(at);
    }

    /// Notes why there are no more samples.
    pub fn end(&mut self, why: &str) {
        self.ended = Some(why.to_owned());
    }

    pub fn switch(&mut self) {
        self.view = match self.view {
            View::Types => View::Threads,
            View::Threads => View::Types,
        };
        self.scroll = 0;
    }

    /// Scrolls, but not beyond the last row.
    pub fn scroll_by(&mut self, rows: isize) {
        let Some(top) = &self.top else {
            return;
        };
        let all = match self.view {
            View::Types => top.types.len(),
            View::Threads => top.threads.len(),
        };
        self.scroll = self
            .scroll
            .saturating_add_signed(rows)
            .min(all.saturating_sub(1));
    }

    /// Returns the types in their order.
    pub fn types(&self) -> Vec<&Type> {
        let types = self.top.iter().flat_map(|top| &top.types);
        let mut types: Vec<&Type> = types.collect();
        match self.sort {
            Sort::Bytes => types.sort_by_key(|found| Reverse(found.bytes)),
            Sort::Objects => types.sort_by_key(|found| Reverse(found.objects)),
            Sort::Name => types.sort_by_key(|found| &found.name),
            Sort::Rate => types.sort_by(|a, b| {
                let rate = |found: &Type| found.rate.unwrap_or(0.0);
                rate(b).total_cmp(&rate(a))
            }),
        }
        types
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::{Sort, State};
    use crate::report::wire::{Pool, Thread, Top, Type};
    use std::time::{Duration, Instant};

    pub fn sample(players: u64) -> Top {
        let type_of = |name: &str, objects, bytes| Type {
            name: name.to_owned(),
            objects,
            bytes,
            dead: 0,
            rate: None,
        };
        Top {
            objects: players + 2,
            bytes: 4096,
            created: 1000,
            destroyed: 900,
            kept: 0,
            types: vec![
                type_of("game::Level", 2, 4000),
                type_of("game::Player", players, 96),
            ],
            all_types: 2,
            threads: vec![Thread {
                key: 1,
                name: Some("main".to_owned()),
                tid: Some(7),
                pools: vec![Pool {
                    name: "frame".to_owned(),
                    entries: 12,
                }],
                inbox: 3,
                backlog: 0,
                created: 1000,
                destroyed: 900,
                frames: Some(61),
                last_frame_nanos: Some(16_600_000),
            }],
        }
    }

    #[test]
    fn rates_are_differences_per_second() {
        let mut state = State::new("process 1".to_owned());
        let start = Instant::now();
        state.add(start, sample(10));
        assert_eq!(state.rate, None);
        state.add(start + Duration::from_secs(2), sample(30));
        assert_eq!(state.rate, Some(10.0));
        state.sort = Sort::Rate;
        assert_eq!(state.types()[0].name, "game::Player");
        state.sort = Sort::Bytes;
        assert_eq!(state.types()[0].name, "game::Level");
    }

    #[test]
    fn scrolling_ends_at_the_last_row() {
        let mut state = State::new("process 1".to_owned());
        state.scroll_by(5);
        assert_eq!(state.scroll, 0);
        state.add(Instant::now(), sample(1));
        state.scroll_by(5);
        assert_eq!(state.scroll, 1);
        state.switch();
        assert_eq!(state.scroll, 0);
    }
}
