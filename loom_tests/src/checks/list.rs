//! All models.

use super::model::Model;
use super::{
    canary, caps, count, cyclic, drain, exit, frame, handoff, heaps, home, hot, hot_table, inbox,
    later, manager, memory, orphans, reclaim, registry, remote_release, senders, shutdown,
    shutdown_exit, shutdown_moves, slot, slot_reuse, snapshot, wait,
};

pub(super) fn all() -> Vec<&'static Model> {
    [
        canary::MODELS,
        count::MODELS,
        cyclic::MODELS,
        drain::MODELS,
        inbox::MODELS,
        senders::MODELS,
        registry::MODELS,
        exit::MODELS,
        home::MODELS,
        hot::MODELS,
        hot_table::MODELS,
        manager::MODELS,
        shutdown::MODELS,
        shutdown_exit::MODELS,
        shutdown_moves::MODELS,
        frame::MODELS,
        wait::MODELS,
        slot::MODELS,
        slot_reuse::MODELS,
        snapshot::MODELS,
        handoff::MODELS,
        later::MODELS,
        reclaim::MODELS,
        remote_release::MODELS,
        orphans::MODELS,
        memory::MODELS,
        heaps::MODELS,
        caps::MODELS,
    ]
    .into_iter()
    .flatten()
    .collect()
}

pub(super) fn find(name: &str) -> Option<&'static Model> {
    let found = all().into_iter().find(|m| m.name == name);
    if found.is_none() {
        eprintln!("there is no model {name}");
    }
    found
}
