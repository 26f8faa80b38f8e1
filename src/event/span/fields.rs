//! The fields of spans.

/// The fields of a span when a drain begins.
#[cfg_attr(not(feature = "tracing"), expect(dead_code))]
pub(crate) struct DrainBegin {
    pub(crate) pool: String,
    pub(crate) manager: Option<String>,
    /// Number of entries in the pool.
    pub(crate) entries: usize,
}

/// The fields of a span when a drain ends.
#[cfg_attr(not(feature = "tracing"), expect(dead_code))]
pub(crate) struct DrainEnd {
    pub(crate) released: usize,
    /// For a drain within a budget: how many releases it has left.
    pub(crate) remaining: Option<usize>,
}

/// The fields of a span when a frame ends.
#[cfg_attr(not(feature = "tracing"), expect(dead_code))]
pub(crate) struct FrameEnd {
    /// Number of posted closures that the frame has run.
    pub(crate) closures: usize,
    pub(crate) released: usize,
    pub(crate) remaining: usize,
}
