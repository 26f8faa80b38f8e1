//! Selects scenarios and implementations by name.

use crate::options::Options;
use crate::scenario::Scenario;
use crate::scenarios;

/// Prints the names of all scenarios and implementations.
pub fn list() {
    for scenario in scenarios::all() {
        println!("{:<20} {}", scenario.id, scenario.title);
        for contestant in &scenario.contestants {
            println!("    {}", contestant.name);
        }
    }
}

/// Returns the scenarios that the options select, with the implementations that they select.
pub fn select(options: &Options) -> Result<Vec<Scenario>, String> {
    let all = scenarios::all();
    let matches = |id: &str, name: &str| id == name || id.starts_with(&format!("{name}-"));
    for name in &options.scenarios {
        if !all.iter().any(|scenario| matches(scenario.id, name)) {
            return Err(format!("no scenario {name:?}; --list prints all"));
        }
    }
    let contains = |name: &str, part: &str| name.to_lowercase().contains(&part.to_lowercase());
    for part in &options.implementations {
        let mut names = all.iter().flat_map(|s| &s.contestants);
        if !names.any(|contestant| contains(contestant.name, part)) {
            return Err(format!("no implementation {part:?}; --list prints all"));
        }
    }
    let mut left = all;
    if !options.scenarios.is_empty() {
        left.retain(|s| options.scenarios.iter().any(|name| matches(s.id, name)));
    }
    if !options.implementations.is_empty() {
        let wanted = |name: &str| options.implementations.iter().any(|p| contains(name, p));
        for scenario in &mut left {
            scenario.contestants.retain(|c| wanted(c.name));
        }
        left.retain(|scenario| !scenario.contestants.is_empty());
    }
    if left.is_empty() {
        return Err("no scenario has such an implementation; --list prints all".to_owned());
    }
    if options.targets && !options.filtered() {
        left.clear();
    }
    Ok(left)
}
