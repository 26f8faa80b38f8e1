//! Handoff pools: nothing in the library leads to their pages, but a handle of the program does,
//! unless it was forgotten.
//!
//! The pages are plain items. The handle says how much of the topmost page is in use: those words
//! are counted references, the rest are stale.

use super::assembly::Assembly;
use super::items::is_page;
use super::regions::WORD;
use crate::graph::{Edge, EdgeKind, Root, RootKind};
use crate::layout::Layout;

/// A page, as an item.
struct Page {
    index: u32,
    /// The bounds of the entries in use.
    first: u64,
    end: u64,
    /// True if a handle leads to this page, or to a page above it.
    is_held: bool,
}

/// Turns references in pages into counted edges, and those of forgotten pools into roots.
pub(super) fn resolve(assembly: &mut Assembly<'_>, layout: &Layout) {
    let items = assembly.targets.items;
    let regions = assembly.scanner.regions;
    let indices = (0..).zip(items);
    let pages = indices.filter(|(_, item)| {
        !item.is_object() && is_page(regions, &(item.start..item.end()), &layout.page)
    });
    let mut pages: Vec<Page> = pages
        .map(|(index, item)| {
            let first = item.start + layout.page.entries;
            Page {
                index,
                first,
                end: first,
                is_held: false,
            }
        })
        .collect();
    if pages.is_empty() {
        return;
    }
    find_handles(assembly, layout, &mut pages);
    follow_chains(assembly, layout, &mut pages);
    let (edges, found) = split_edges(assembly, &pages);
    assembly.edges.edges = edges;
    let labels = &mut assembly.roots.labels;
    let label = labels.add("a handoff pool that was forgotten");
    for (edge, is_held) in found {
        if is_held {
            assembly.edges.edges.push(edge);
        } else {
            assembly.roots.roots.push(Root {
                kind: RootKind::ForgottenPool,
                label,
                to: edge.to,
                address: items[edge.from as usize].start + u64::from(edge.offset),
                counted: 1,
            });
        }
    }
}

fn place(pages: &[Page], index: u32) -> Option<usize> {
    pages.binary_search_by_key(&index, |page| page.index).ok()
}

/// Finds the handles that lead to pages, and how many entries the pages have.
fn find_handles(assembly: &Assembly<'_>, layout: &Layout, pages: &mut [Page]) {
    let items = assembly.targets.items;
    let regions = assembly.scanner.regions;
    let edges = assembly.edges.edges.iter().filter_map(|edge| {
        let to = place(pages, edge.to)?;
        let from = &items[edge.from as usize];
        Some((to, from.address() + u64::from(edge.offset)))
    });
    let roots = assembly.roots.roots.iter();
    let roots = roots.filter_map(|root| Some((place(pages, root.to)?, root.address)));
    let room = layout.page.capacity * WORD;
    let top_of = |(to, at): (usize, u64)| {
        let page: &Page = &pages[to];
        let is_handle = regions.word(at) == Some(items[page.index as usize].start);
        let top = at
            .checked_sub(layout.entries.page)?
            .checked_add(layout.entries.top);
        let top = regions.word(top?)?;
        let fits =
            (page.first..=page.first + room).contains(&top) && (top - page.first) % WORD == 0;
        (is_handle && fits).then_some((to, top))
    };
    let tops: Vec<_> = edges.chain(roots).filter_map(top_of).collect();
    for (to, top) in tops {
        pages[to].is_held = true;
        pages[to].end = pages[to].end.max(top);
    }
}

/// Finds the pages below others, which are full, and the entries in pages without a handle.
fn follow_chains(assembly: &Assembly<'_>, layout: &Layout, pages: &mut [Page]) {
    let items = assembly.targets.items;
    let regions = assembly.scanner.regions;
    let room = layout.page.capacity * WORD;
    let below = |page: &Page| {
        let start = items[page.index as usize].start;
        let below = regions.word(start + layout.page.prev)?;
        let index = items.binary_search_by_key(&below, |item| item.start).ok()?;
        place(pages, index as u32)
    };
    let below: Vec<Option<usize>> = pages.iter().map(below).collect();
    for page in below.iter().flatten() {
        pages[*page].end = pages[*page].first + room;
    }
    for mut at in 0..pages.len() {
        // Each step marks a page, so the walk ends.
        while let Some(next) = below[at].filter(|next| pages[at].is_held && !pages[*next].is_held) {
            pages[next].is_held = true;
            at = next;
        }
    }
    for page in pages.iter_mut().filter(|page| page.end == page.first) {
        // In the topmost page of a forgotten pool, the entries are those words at its beginning
        // that are addresses of objects.
        let is_entry = |at: &u64| {
            let word = regions.word(*at);
            word.is_some_and(|word| assembly.targets.is_payload(word))
        };
        let places = (page.first..page.first + room).step_by(WORD as usize);
        let entries = places.take_while(is_entry).count() as u64;
        page.end = page.first + entries * WORD;
    }
}

/// Splits the edges into those that stay, which are outside of pages or lead from page to page, and
/// references in pages. Each of the latter comes with whether a handle leads to its page.
fn split_edges(assembly: &mut Assembly<'_>, pages: &[Page]) -> (Vec<Edge>, Vec<(Edge, bool)>) {
    let items = assembly.targets.items;
    let mut found = Vec::new();
    let mut edges = std::mem::take(&mut assembly.edges.edges);
    edges.retain(|edge| {
        let Some(place) = place(pages, edge.from) else {
            return true;
        };
        let page = &pages[place];
        let at = items[edge.from as usize].start + u64::from(edge.offset);
        if edge.kind == EdgeKind::Exact && (page.first..page.end).contains(&at) {
            let kind = EdgeKind::Counted;
            found.push((Edge { kind, ..*edge }, page.is_held));
        }
        at < page.first
    });
    (edges, found)
}
