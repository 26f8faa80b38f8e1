//! Events: what they say, where they go, and how often they are reported.

mod hook;
