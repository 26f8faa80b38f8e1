//! Tests of the C interface: programs in C and C++, which are compiled here and run.

mod abi;
mod cocos;
mod compiler;
mod ends;
mod engines;
mod installed;
mod interface;
mod names;
mod nulls;
mod programs;
mod rust;
mod warnings;
