//! Tests of the report of the benchmark `contention`: what it concludes from samples, its markup, and
//! how a browser draws it.

#[path = "report/browser.rs"]
mod browser;
#[path = "report/compared.rs"]
mod compared;
#[path = "report/drawn.rs"]
mod drawn;
#[path = "report/edges.rs"]
mod edges;
#[path = "report/findings.rs"]
mod findings;
#[path = "report/fixture.rs"]
mod fixture;
#[path = "report/markup.rs"]
mod markup;
