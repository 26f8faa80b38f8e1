//! The entries of the [note](crate::note) for a thread's pools.

use super::{POOL_CHUNK, ThreadPools};
use crate::layout::{Entry, entries};
use crate::pool::entries::page::PageCache;
use crate::thread::claimed::ClaimedMessages;
use crate::thread::inbox::Queue;
use std::mem::offset_of;

pub(crate) const NOTE: &[Entry] = entries! {
    pools {
        size = size_of::<ThreadPools>(),
        first = offset_of!(ThreadPools, first),
        others = offset_of!(ThreadPools, others),
        chunks = offset_of!(ThreadPools, chunks),
        chunk_len = POOL_CHUNK,
        spare_pages = offset_of!(ThreadPools, pages) + PageCache::FIRST,
        record = offset_of!(ThreadPools, record),
        link = offset_of!(ThreadPools, link),
        newest_first = offset_of!(ThreadPools, claimed) + ClaimedMessages::NEWEST_FIRST,
        oldest_first = offset_of!(ThreadPools, claimed) + ClaimedMessages::OLDEST_FIRST,
        posted = offset_of!(ThreadPools, posted) + Queue::FIRST,
    }
};
