//! Prints the public names of a library, one on a line, from the JSON that rustdoc has written: see `ci/api.sh`.
//!
//! Left out are auto traits, which `tests/all/api/every_type.rs` has in a table, and implementations for all types.

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let json = std::env::args().nth(1).ok_or("usage: xtask-api JSON")?;
    let api = public_api::Builder::from_rustdoc_json(json)
        .omit_auto_trait_impls(true)
        .omit_blanket_impls(true)
        .build()?;
    for item in api.items() {
        println!("{item}");
    }
    Ok(())
}
