//! The state that a thread observes.

use super::super::State;
use super::{Handle, Naive, Object, Pool};

impl Naive {
    /// Returns the state that the thread observes.
    pub fn state(&mut self, me: usize) -> State {
        let log = self.take_log();
        let looks = self.threads[me].looks;
        self.threads[me].looks += 1;
        let here = &self.threads[me];
        let all: Vec<_> = self.handles.iter().flatten().collect();
        let looked_at = all.get(looks % all.len().max(1));
        let contains = |Handle { object, .. }: &&Handle| {
            let has = |pool: &Pool| pool.entries.contains(object);
            let guards = here.guards.iter().flatten();
            let mine = |manager| {
                let of = |pool: &&Pool| (pool.thread, pool.manager) == (me, manager);
                self.pools.iter().filter(of).any(has)
            };
            let guards = guards.map(|&pool| has(&self.pools[pool])).collect();
            (guards, [mine(0), mine(1)])
        };
        let counts = |&Handle { object, .. }: &Handle| {
            let Object { strong, weak, .. } = self.objects[object];
            (strong, weak)
        };
        let weak = |&Handle { object, .. }: &Handle| {
            let Object { strong, weak, .. } = self.objects[object];
            (strong, if strong == 0 { 0 } else { weak })
        };
        let (guards, locals) = (here.guards.iter(), here.locals.iter());
        State {
            log,
            handles: (self.handles.iter())
                .map(|handle| handle.as_ref().map(counts))
                .collect(),
            contains: looked_at.map(contains),
            weaks: (self.weaks.iter())
                .map(|handle| handle.as_ref().map(weak))
                .collect(),
            guards: guards
                .map(|pool| pool.map(|pool| self.pools[pool].entries.len()))
                .collect(),
            locals: locals
                .map(|object| object.map(|object| self.objects[object].strong))
                .collect(),
            roots: here.roots.map(|root| self.pools[root].entries.len()),
            open: [0, 1].map(|manager| self.open_pools(me, manager)),
            links: self.links,
        }
    }
}
