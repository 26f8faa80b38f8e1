//! Tests of the report of the benchmark `contention`: its markup, and how a browser draws it.

#[path = "report/browser.rs"]
mod browser;
#[path = "report/drawn.rs"]
mod drawn;
#[path = "report/edges.rs"]
mod edges;
#[path = "report/fixture.rs"]
mod fixture;
#[path = "report/markup.rs"]
mod markup;
