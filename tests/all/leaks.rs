//! The ledger of live objects, and the reports of `leaks`.

mod balance;
mod contention;
mod expectations;
mod foreign;
mod holders;
mod reports;
mod scopes;
mod sites;
