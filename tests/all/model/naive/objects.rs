//! Objects, their destruction, and what their destructors do.

use super::super::{DEEPEST, Note, Plan};
use super::{Handle, Kind, Naive, Object, Run, Value, View, pick};

impl Naive {
    pub(super) fn new_object(&mut self, values: Vec<usize>) -> usize {
        self.objects.push(Object {
            values,
            strong: 1,
            weak: 0,
        });
        self.objects.len() - 1
    }

    fn new_value(&mut self, plan: Plan) -> usize {
        let links = match plan {
            Plan::Links(n) => 4 * n as usize,
            _ => 0,
        };
        self.links += links;
        self.values.push(Value {
            plan,
            always: false,
            children: Vec::new(),
            me: None,
            links,
        });
        self.values.len() - 1
    }

    pub(super) fn create(&mut self, plan: Plan) -> usize {
        let value = self.new_value(plan);
        self.new_object(vec![value])
    }

    pub(super) fn create_handle(&mut self, plans: &[Plan], view: View) {
        let values = plans.iter().map(|&plan| self.new_value(plan)).collect();
        let object = self.new_object(values);
        self.handles.push(Some(Handle { object, view }));
    }

    pub(super) fn upgrade(&mut self, i: u8) -> Option<()> {
        let handle = self.weaks[pick(&self.weaks, i)?]?;
        let alive = self.objects[handle.object].strong > 0;
        self.note(Note::Got(alive));
        if alive {
            self.objects[handle.object].strong += 1;
            self.handles.push(Some(handle));
        }
        Some(())
    }

    pub(super) fn set_plans(&mut self, object: usize, plan: Plan) {
        for &value in &self.objects[object].values {
            self.values[value].plan = plan;
        }
    }

    pub(super) fn make_mut(&mut self, i: u8, plan: Plan) -> Option<Run> {
        let at = pick(&self.handles, i)?;
        let handle = self.handles[at]?;
        if handle.view == View::Dyn {
            return None;
        }
        let old = handle.object;
        let Object { strong, weak, .. } = self.objects[old];
        let mut new = old;
        if strong == 1 && weak > 0 {
            // The value moves to a new object; weak references stay with the old one.
            let values = std::mem::take(&mut self.objects[old].values);
            self.objects[old].strong = 0;
            new = self.new_object(values);
        } else if strong > 1 {
            let values = self.objects[old].values.clone();
            let values = values.into_iter().map(|v| self.clone_value(v)).collect();
            new = self.new_object(values);
            self.objects[old].strong -= 1;
        }
        self.handles[at] = Some(Handle {
            object: new,
            ..handle
        });
        self.set_plans(new, plan);
        Some(Ok(()))
    }

    fn clone_value(&mut self, of: usize) -> usize {
        let Value {
            plan, always, me, ..
        } = self.values[of];
        let children = self.values[of].children.clone();
        children.iter().for_each(|&c| self.objects[c].strong += 1);
        if let Some(me) = me {
            self.objects[me].weak += 1;
        }
        self.values.push(Value {
            plan,
            always,
            children,
            me,
            links: 0,
        });
        self.values.len() - 1
    }

    pub(super) fn release(&mut self, object: usize) -> Run {
        self.objects[object].strong -= 1;
        if self.objects[object].strong > 0 {
            return Ok(());
        }
        self.here().releases += 1;
        let result = self.drop_values(object);
        self.here().releases -= 1;
        result
    }

    /// Drops all values, even if one of them panics.
    pub(super) fn drop_values(&mut self, object: usize) -> Run {
        let mut result = Ok(());
        for value in std::mem::take(&mut self.objects[object].values) {
            result = result.and(self.die(value));
        }
        result
    }

    fn die(&mut self, value: usize) -> Run {
        self.note(Note::Died(value as u32));
        self.here().depth += 1;
        let too_deep = self.here().depth > DEEPEST;
        let mut result = Ok(());
        if !too_deep {
            result = self.carry_out(value);
        }
        let children = std::mem::take(&mut self.values[value].children);
        if too_deep {
            self.attic.extend(children);
        } else {
            for child in children {
                result = result.and(self.release(child));
            }
        }
        self.links -= self.values[value].links;
        if let Some(me) = self.values[value].me {
            self.objects[me].weak -= 1;
        }
        self.here().depth -= 1;
        result
    }

    fn panic(&mut self, value: usize) -> Run {
        self.here().panics += 1;
        Err(value as u32)
    }

    fn carry_out(&mut self, value: usize) -> Run {
        if self.values[value].always {
            return self.panic(value);
        }
        match self.values[value].plan {
            Plan::Nothing | Plan::Links(_) => {}
            Plan::Relay(left) => {
                let next = (left % 4).checked_sub(1);
                let next = self.create(next.map_or(Plan::Nothing, Plan::Relay));
                self.autorelease(0, next)?;
            }
            Plan::Nest => {
                let pool = self.open(0, Kind::Guard);
                let object = self.create(Plan::Nothing);
                self.autorelease(0, object)?;
                let object = self.create(Plan::Nothing);
                self.pools[pool].entries.push(object);
                self.drain_and_close(pool)?;
            }
            Plan::NestToken => {
                let token = self.new_token(1);
                for manager in [1, 0] {
                    let object = self.create(Plan::Nothing);
                    self.autorelease(manager, object)?;
                }
                let popped = self.pop(token, 1)?;
                self.note(Note::Popped(popped));
            }
            Plan::NestScope => {
                let pool = self.open(0, Kind::Scope);
                let object = self.create(Plan::Nothing);
                self.autorelease(0, object)?;
                self.leave_scope(pool)?;
            }
            Plan::NestPanic => {
                let pool = self.open(0, Kind::Guard);
                for always in [false, true] {
                    let object = self.create(Plan::Nothing);
                    self.values.last_mut().unwrap().always = always;
                    self.pools[pool].entries.push(object);
                }
                self.drain_and_close(pool)?;
            }
            Plan::DrainRoot(manager) => {
                let root = self.here().roots[manager as usize % 2];
                self.drain_and_note(root)?;
            }
            Plan::Pop(i) => self.pop_and_note(i, 0).unwrap_or(Ok(()))?,
            Plan::Push(manager) => {
                if !self.here().exited {
                    self.push(manager as usize % 2);
                }
            }
            Plan::Forget => {
                if !self.here().exited {
                    let pool = self.open(0, Kind::Guard);
                    self.here().lost.push(pool);
                    let object = self.create(Plan::Nothing);
                    self.autorelease(0, object)?;
                }
            }
            Plan::KeepOpen(manager) => {
                if !self.here().exited {
                    let pool = self.open(manager as usize % 2, Kind::Guard);
                    self.here().guards.push(Some(pool));
                }
            }
            Plan::Panic => {
                if self.here().panics == 0 {
                    return self.panic(value);
                }
            }
            Plan::Drop(i) => {
                if let Some(handle) = self.take_handle(i) {
                    self.release(handle.object)?;
                }
            }
            Plan::Upgrade(i) => {
                self.upgrade(i);
            }
            Plan::UpgradeSelf => {
                if let Some(me) = self.values[value].me {
                    let alive = self.objects[me].strong > 0;
                    self.note(Note::Got(alive));
                }
            }
            Plan::Send(to) => {
                let object = self.create(Plan::Nothing);
                self.send(to, object);
            }
            Plan::RunInbox => self.run_inbox()?,
        }
        Ok(())
    }
}
