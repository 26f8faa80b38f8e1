//! The model: nothing but vectors.

use super::{DRAINING, NOTE, Op, Plan, STALE, STALE_POP, State};

struct Object {
    plan: Plan,
    strong: usize,
    weak: usize,
    children: Vec<usize>,
}

#[derive(Default)]
struct Pool {
    manager: usize,
    entries: Vec<usize>,
    open: bool,
    drains: usize,
}

/// What says which pool is current: the topmost that has one.
#[derive(PartialEq)]
enum Frame {
    Pool(usize),
    /// A drain of this pool, or a scope.
    Barrier(Option<usize>),
}

pub struct Naive {
    objects: Vec<Object>,
    /// The first two are the roots.
    pools: Vec<Pool>,
    /// By manager.
    frames: [Vec<Frame>; 2],
    /// Open token pools by manager, oldest first.
    tokens: [Vec<usize>; 2],
    /// All tokens that the program itself has pushed.
    pushed: Vec<usize>,
    handles: Vec<Option<usize>>,
    weaks: Vec<Option<usize>>,
    guards: Vec<Option<usize>>,
    scopes: Vec<usize>,
    log: Vec<u32>,
    result: Option<usize>,
}

impl Default for Naive {
    fn default() -> Self {
        let root = |manager| Pool {
            manager,
            open: true,
            ..Pool::default()
        };
        Self {
            objects: Vec::new(),
            pools: vec![root(0), root(1)],
            frames: [vec![Frame::Pool(0)], vec![Frame::Pool(1)]],
            tokens: Default::default(),
            pushed: Vec::new(),
            handles: Vec::new(),
            weaks: Vec::new(),
            guards: Vec::new(),
            scopes: Vec::new(),
            log: Vec::new(),
            result: None,
        }
    }
}

/// The `i`th of those that are there, modulo their number.
pub fn pick<T>(of: &[Option<T>], i: usize) -> Option<usize> {
    let there: Vec<_> = (0..of.len()).filter(|&at| of[at].is_some()).collect();
    (!there.is_empty()).then(|| there[i % there.len()])
}

impl Naive {
    pub fn step(&mut self, op: &Op) {
        self.result = None;
        match *op {
            Op::Create(plan) => {
                let object = self.create(plan);
                self.handles.push(Some(object));
            }
            Op::Clone(i) => {
                let Some(at) = pick(&self.handles, i) else {
                    return;
                };
                let object = self.handles[at].unwrap();
                self.objects[object].strong += 1;
                self.handles.push(Some(object));
            }
            Op::Drop(i) => {
                if let Some(object) = self.take_handle(i) {
                    self.release(object);
                }
            }
            Op::Adopt(parent, child) => {
                let Some(parent) = pick(&self.handles, parent) else {
                    return;
                };
                let child = self.handles[pick(&self.handles, child).unwrap()].unwrap();
                let parent = self.handles[parent].unwrap();
                self.objects[child].strong += 1;
                self.objects[parent].children.push(child);
            }
            Op::Downgrade(i) => {
                let Some(at) = pick(&self.handles, i) else {
                    return;
                };
                let object = self.handles[at].unwrap();
                self.objects[object].weak += 1;
                self.weaks.push(Some(object));
            }
            Op::Upgrade(i) => {
                let Some(at) = pick(&self.weaks, i) else {
                    return;
                };
                let object = self.weaks[at].unwrap();
                self.result = Some(self.objects[object].strong);
                if self.objects[object].strong > 0 {
                    self.objects[object].strong += 1;
                    self.handles.push(Some(object));
                }
            }
            Op::DropWeak(i) => {
                let Some(at) = pick(&self.weaks, i) else {
                    return;
                };
                self.objects[self.weaks[at].take().unwrap()].weak -= 1;
            }
            Op::Open(manager) => {
                let pool = self.open(manager);
                self.guards.push(Some(pool));
            }
            Op::Close(i) => {
                let Some(at) = pick(&self.guards, i) else {
                    return;
                };
                let pool = self.guards[at].take().unwrap();
                self.drain(pool);
                self.close(pool);
            }
            Op::Forget(i) => {
                let Some(at) = pick(&self.guards, i) else {
                    return;
                };
                self.guards[at] = None;
            }
            Op::Drain(i) => {
                let Some(at) = pick(&self.guards, i) else {
                    return;
                };
                self.result = Some(self.drain(self.guards[at].unwrap()));
            }
            Op::Autorelease(pool, i) => {
                let Some(pool) = pick(&self.guards, pool) else {
                    return;
                };
                let Some(object) = self.take_handle(i) else {
                    return;
                };
                let pool = self.guards[pool].unwrap();
                self.pools[pool].entries.push(object);
            }
            Op::AutoreleaseImplicitly(manager, i) => {
                let Some(object) = self.take_handle(i) else {
                    return;
                };
                self.autorelease(manager, object);
            }
            Op::Push(manager) => {
                let pool = self.push(manager);
                self.pushed.push(pool);
            }
            Op::Pop(i) => {
                if self.pushed.is_empty() {
                    return;
                }
                let popped = self.pop(self.pushed[i % self.pushed.len()]);
                self.result = Some(popped.unwrap_or(STALE_POP));
            }
            Op::DrainRoot(manager) => self.result = Some(self.drain(manager)),
            Op::Scope(_) => unreachable!("it is entered and left"),
        }
    }

    pub fn enter_scope(&mut self) {
        self.frames[0].push(Frame::Barrier(None));
        let pool = self.open(0);
        self.scopes.push(pool);
    }

    pub fn leave_scope(&mut self) {
        self.result = None;
        let pool = self.scopes.pop().unwrap();
        self.drain(pool);
        self.close(pool);
        self.lower_barrier(0);
    }

    /// All handles and guards go, in the order in which they came.
    pub fn end(&mut self) {
        for at in 0..self.handles.len() {
            if let Some(object) = self.handles[at].take() {
                self.release(object);
            }
        }
        for at in 0..self.guards.len() {
            if let Some(pool) = self.guards[at].take() {
                self.drain(pool);
                self.close(pool);
            }
        }
    }

    pub fn exit_thread(&mut self) {
        loop {
            let mut any = false;
            for manager in 0..2 {
                while let Some(&pool) = self.tokens[manager].last() {
                    any |= self.drain(pool) > 0;
                    if self.tokens[manager].last() == Some(&pool) {
                        self.tokens[manager].pop();
                        self.close(pool);
                    }
                }
                any |= self.drain(manager) > 0;
            }
            if !any {
                return;
            }
        }
    }

    pub fn state(&self) -> State {
        let pools_of = |object: usize| {
            let guards = self.guards.iter().flatten();
            guards
                .map(|&pool| self.pools[pool].entries.contains(&object))
                .collect()
        };
        let counts = |&object: &usize| {
            let Object { strong, weak, .. } = self.objects[object];
            (strong, weak, pools_of(object))
        };
        let open = |manager| {
            let pools = self.pools[2..].iter();
            pools
                .filter(|pool| pool.open && pool.manager == manager)
                .count()
        };
        State {
            log: self.log.clone(),
            handles: self
                .handles
                .iter()
                .map(|handle| handle.as_ref().map(counts))
                .collect(),
            weaks: (self.weaks.iter())
                .map(|weak| weak.map(|object| self.objects[object].strong))
                .collect(),
            guards: (self.guards.iter())
                .map(|guard| guard.map(|pool| self.pools[pool].entries.len()))
                .collect(),
            roots: [0, 1].map(|root| self.pools[root].entries.len()),
            open: [0, 1].map(open),
            result: self.result,
        }
    }

    fn create(&mut self, plan: Plan) -> usize {
        self.objects.push(Object {
            plan,
            strong: 1,
            weak: 0,
            children: Vec::new(),
        });
        self.objects.len() - 1
    }

    fn take_handle(&mut self, i: usize) -> Option<usize> {
        let at = pick(&self.handles, i)?;
        self.handles[at].take()
    }

    fn release(&mut self, object: usize) {
        self.objects[object].strong -= 1;
        if self.objects[object].strong > 0 {
            return;
        }
        self.log.push(object as u32);
        self.carry_out(self.objects[object].plan);
        for child in std::mem::take(&mut self.objects[object].children) {
            self.release(child);
        }
    }

    fn carry_out(&mut self, plan: Plan) {
        match plan {
            Plan::Nothing => {}
            Plan::Relay(left) => {
                let next = left.checked_sub(1).map_or(Plan::Nothing, Plan::Relay);
                let next = self.create(next);
                self.autorelease(0, next);
            }
            Plan::Nest => {
                let pool = self.open(0);
                for _ in 0..2 {
                    let object = self.create(Plan::Nothing);
                    self.autorelease(0, object);
                }
                self.drain(pool);
                self.close(pool);
            }
            Plan::NestToken => {
                let pool = self.push(1);
                let object = self.create(Plan::Nothing);
                self.autorelease(1, object);
                let object = self.create(Plan::Nothing);
                self.autorelease(0, object);
                let popped = self.pop(pool);
                self.log.push(NOTE + popped.unwrap() as u32);
            }
            Plan::DrainRoot => {
                let released = self.drain(0);
                self.log.push(NOTE + released as u32);
            }
            Plan::Pop(i) => {
                if !self.pushed.is_empty() {
                    let popped = self.pop(self.pushed[i % self.pushed.len()]);
                    self.log
                        .push(popped.map_or_else(|error| error, |n| NOTE + n as u32));
                }
            }
            Plan::Forget => {
                self.open(0);
                let object = self.create(Plan::Nothing);
                self.autorelease(0, object);
            }
        }
    }

    fn autorelease(&mut self, manager: usize, object: usize) {
        let current = self.frames[manager]
            .iter()
            .rev()
            .find_map(|frame| match frame {
                Frame::Pool(pool) | Frame::Barrier(Some(pool)) => Some(*pool),
                Frame::Barrier(None) => None,
            });
        self.pools[current.unwrap()].entries.push(object);
    }

    fn open(&mut self, manager: usize) -> usize {
        let pool = self.pools.len();
        self.pools.push(Pool {
            manager,
            open: true,
            ..Pool::default()
        });
        self.frames[manager].push(Frame::Pool(pool));
        pool
    }

    fn close(&mut self, pool: usize) {
        self.pools[pool].open = false;
        let frames = &mut self.frames[self.pools[pool].manager];
        let Some(at) = frames.iter().position(|frame| *frame == Frame::Pool(pool)) else {
            return;
        };
        let barrier = |frame: &Frame| matches!(frame, Frame::Barrier(_));
        let end = frames[at..]
            .iter()
            .position(barrier)
            .map_or(frames.len(), |n| at + n);
        frames.drain(at..end);
    }

    fn drain(&mut self, pool: usize) -> usize {
        let manager = self.pools[pool].manager;
        self.frames[manager].push(Frame::Barrier(Some(pool)));
        self.pools[pool].drains += 1;
        let mut released = 0;
        while let Some(object) = self.pools[pool].entries.pop() {
            released += 1;
            self.release(object);
        }
        self.pools[pool].drains -= 1;
        self.lower_barrier(manager);
        released
    }

    /// The last barrier goes, and what was left open above it.
    fn lower_barrier(&mut self, manager: usize) {
        let frames = &mut self.frames[manager];
        let at = frames
            .iter()
            .rposition(|frame| matches!(frame, Frame::Barrier(_)));
        frames.truncate(at.unwrap());
    }

    fn push(&mut self, manager: usize) -> usize {
        let pool = self.open(manager);
        self.tokens[manager].push(pool);
        pool
    }

    fn pop(&mut self, pool: usize) -> Result<usize, u32> {
        let manager = self.pools[pool].manager;
        let tokens = &self.tokens[manager];
        let at = tokens
            .iter()
            .position(|&token| token == pool)
            .ok_or(STALE)?;
        if tokens[at..]
            .iter()
            .any(|&token| self.pools[token].drains > 0)
        {
            return Err(DRAINING);
        }
        let mut released = 0;
        loop {
            let last = *self.tokens[manager].last().unwrap();
            released += self.drain(last);
            if self.tokens[manager].last() == Some(&last) {
                self.tokens[manager].pop();
                self.close(last);
                if last == pool {
                    return Ok(released);
                }
            }
        }
    }
}
