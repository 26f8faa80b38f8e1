//! Random programs, which the library's tests run, too.

#[path = "../../tests/all/model/free/mod.rs"]
mod shared;

#[path = "../../tests/all/model/seam.rs"]
mod seam;

pub use shared::{Kind, ON_PURPOSE, Random, Setting, run, survive};
