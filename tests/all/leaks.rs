//! The ledger of live objects, and the reports of `leaks`.

mod balance;
mod expectations;
mod holders;
mod reports;
mod scopes;
mod sites;
