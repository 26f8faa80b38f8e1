//! Words outside of all items that refer to items: in variables, on stacks, in registers.

use super::areas::{Area, Owner};
use super::regions::Regions;
use super::targets::{Target, Targets};
use crate::graph::Texts;
use crate::graph::{Root, RootKind};
use crate::image::{Image, Thread};
use crate::library::Library;

/// Roots: nodes are indices of items.
#[derive(Default)]
pub(super) struct Roots {
    /// Words that refer to payloads, or into plain memory.
    pub(super) roots: Vec<Root>,
    /// Words that refer to other memory of objects.
    pub(super) inside: Vec<Inside>,
    /// The indices of watched addresses (of guards' pools) that words refer to, some repeatedly.
    pub(super) watched: Vec<u32>,
    /// The texts to which the labels of roots are indices.
    pub(super) labels: Texts,
}

/// A word that refers to memory of an object other than the beginning of its payload.
pub(super) struct Inside {
    pub(super) word: u64,
    pub(super) root: Root,
}

/// Finds roots.
pub(super) struct Finder<'a> {
    pub(super) image: &'a dyn Image,
    pub(super) regions: &'a Regions<'a>,
    pub(super) targets: &'a Targets<'a>,
    /// A name for each thread of the image.
    pub(super) threads: &'a [String],
}

impl Finder<'_> {
    /// Returns all roots in memory and registers.
    pub(super) fn find(&self, areas: &[Area]) -> Roots {
        let mut roots = Roots::default();
        for area in areas {
            self.add_area(area, &mut roots);
        }
        for (index, thread) in self.image.threads().iter().enumerate() {
            let label = || format!("register of {}", self.threads[index]);
            for word in thread.registers.iter().chain([&thread.stack_pointer]) {
                self.add(*word, 0, RootKind::Register, label, &mut roots);
            }
        }
        roots
    }

    fn add_area(&self, area: &Area, roots: &mut Roots) {
        let is_used = area.owner != Owner::Nobody;
        let Some(region) = self.regions.find(area.range.start).filter(|_| is_used) else {
            return;
        };
        region.for_words(area.range.clone(), |address, word| {
            self.add(
                word,
                address,
                area.kind,
                || self.label(area, address),
                roots,
            );
        });
    }

    #[inline(always)]
    fn add(
        &self,
        word: u64,
        address: u64,
        kind: RootKind,
        label: impl Fn() -> String,
        roots: &mut Roots,
    ) {
        let Some(target) = self.targets.find(word) else {
            return;
        };
        if let Target::Watched(index) = target {
            roots.watched.push(index);
            return;
        }
        let label = roots.labels.add(&label());
        let root = |to| Root {
            kind,
            label,
            to,
            address,
            counted: 0,
        };
        match target {
            Target::Payload(to) | Target::Plain(to) => roots.roots.push(root(to)),
            Target::Inside(to) => {
                let root = root(to);
                roots.inside.push(Inside { word, root });
            }
            Target::Watched(_) => {}
        }
    }

    /// Names the word at an address for people.
    fn label(&self, area: &Area, address: u64) -> String {
        match (area.kind, area.owner) {
            (RootKind::Static, _) => match self.static_at(address) {
                Some(name) => format!("static {name}"),
                None => format!("static {}", self.place_in_module(address)),
            },
            (RootKind::ThreadLocal, Owner::Thread(thread)) => {
                let at = self.image.threads()[thread].thread_pointer;
                let name = thread_local_at(self.image, at, address);
                let name = name.unwrap_or_else(|| "variable".to_owned());
                format!("thread-local {name} of {}", self.threads[thread])
            }
            (RootKind::Stack, Owner::Thread(thread)) => {
                format!("stack of {}", self.threads[thread])
            }
            (_, Owner::NewThread) => "start of a new thread".to_owned(),
            _ => format!("memory at {:#x}", area.range.start),
        }
    }

    fn static_at(&self, address: u64) -> Option<String> {
        self.image.symbols()?.static_at(address)
    }

    /// Names a place by its module, for variables without a symbol.
    fn place_in_module(&self, address: u64) -> String {
        let modules = self.image.modules();
        let module = modules.iter().rfind(|module| module.start <= address);
        module.map_or_else(
            || format!("at {address:#x}"),
            |module| {
                let name = module.path.rsplit('/').next().unwrap_or_default();
                format!("{name}+{:#x}", address.wrapping_sub(module.bias))
            },
        )
    }
}

/// Returns the name of the thread-local variable at an address, for the thread with this thread
/// pointer.
fn thread_local_at(image: &dyn Image, thread_pointer: u64, address: u64) -> Option<String> {
    let program = image.modules().first()?;
    let (_, size, align) = program.tls?;
    let align = align.max(1);
    // The program's own thread-locals are next to the thread pointer; those of libraries may be
    // anywhere.
    let start = if cfg!(target_arch = "aarch64") {
        (thread_pointer + 16).next_multiple_of(align)
    } else {
        thread_pointer.wrapping_sub(size.next_multiple_of(align))
    };
    let offset = address.checked_sub(start).filter(|offset| *offset < size)?;
    let symbols = image.symbols()?;
    symbols.thread_local_at(program.start, offset)
}

/// Returns a label for each thread of an image: `main`, the known name, or the kernel's id.
pub(super) fn thread_labels(image: &dyn Image, library: &Library) -> Vec<String> {
    let label = |thread: &Thread| {
        let known = library
            .threads
            .iter()
            .find(|known| known.state.tid == Some(thread.tid));
        let name = known.and_then(|known| known.state.name.as_ref());
        match name.or(thread.name.as_ref()) {
            _ if image.pid() == Some(thread.tid) => "thread \"main\"".to_owned(),
            Some(name) => format!("thread {name:?}"),
            None => format!("thread {}", thread.tid),
        }
    };
    image.threads().iter().map(label).collect()
}
