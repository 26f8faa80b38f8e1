//! Reports: what the commands show, for machines ([`wire`]) and for people ([`text`]).

pub mod build;
pub mod find;
pub mod text;
pub mod wire;
