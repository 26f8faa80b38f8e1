//! One binary, modules by topic.
mod smoke;
