//! Reports: what the commands show, for machines ([`wire`]) and for people ([`text`]).

pub mod build;
pub mod subject;
pub mod text;
pub mod wire;
