//! The verdicts that must be found in the example `leaky`.

use serde_json::Value;

/// Returns the names of the types on a group's path.
pub fn types(group: &Value) -> Vec<&str> {
    let path = group["path"].as_array().expect("a path").iter();
    path.filter_map(|hop| hop["type"].as_str()).collect()
}

/// Returns all groups and hints of a report.
pub fn groups(report: &Value) -> impl Iterator<Item = &Value> {
    let lists = [&report["groups"], &report["hints"]].into_iter();
    lists.flat_map(|list| list.as_array().expect("a list"))
}

/// Returns the expected leaks that the report does not name.
fn missing(report: &Value) -> Vec<String> {
    let expected = include_str!("../../examples/leaky/expected.txt").lines();
    let expected = expected.filter(|line| !line.starts_with('#'));
    let named = |line: &&str| {
        let (names, verdicts) = line.split_once(": ").expect("names and verdicts");
        groups(report).any(|group| {
            let verdict = group["verdict"].as_str().expect("a verdict");
            let types = types(group);
            let has = |name: &str| {
                types
                    .iter()
                    .any(|found| found.ends_with(&format!("::{name}")))
            };
            verdicts.split(' ').any(|expected| expected == verdict) && names.split(' ').all(has)
        })
    };
    expected
        .filter(|line| !named(line))
        .map(str::to_owned)
        .collect()
}

/// Checks a report of all leaks: each is named, and nothing else.
pub fn check(report: &Value, what: &str) {
    for group in groups(report) {
        let healthy = types(group)
            .into_iter()
            .find(|name| !name.contains("::Leak"));
        assert!(healthy.is_none(), "{what}: a healthy type: {group:#}");
    }
    let missing = missing(report);
    assert!(
        missing.is_empty(),
        "{what}: {missing:?} not named in {report:#}"
    );
}
