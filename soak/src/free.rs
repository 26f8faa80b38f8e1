//! Random programs, which the library's tests run, too; this program uses a part of them.

#[allow(dead_code)]
#[path = "../../tests/all/model/free/mod.rs"]
mod shared;

#[path = "../../tests/all/model/seam.rs"]
mod seam;

pub use shared::{Kind, Setting, Step, run};
