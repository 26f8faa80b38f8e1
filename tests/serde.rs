//! Reports of `leaks` can be serialized.

use releasepool::{AutoreleasePool, leaks};

#[test]
fn a_report_can_be_serialized() {
    struct Small;
    let scope = leaks::scope();
    let pool = AutoreleasePool::named("json");
    pool.create(Small);
    let line = line!() - 1;
    let report = serde_json::to_value(scope.report()).unwrap();
    assert_eq!(
        (&report["objects"], &report["bytes"]),
        (&1.into(), &16.into())
    );
    assert_eq!(report["unrecorded"], 0);
    let group = &report["groups"][0];
    assert!(group["type_name"].as_str().unwrap().ends_with("::Small"));
    assert!(
        group["site"]["file"]
            .as_str()
            .unwrap()
            .ends_with("serde.rs")
    );
    assert_eq!(group["site"]["line"], line);
    assert_eq!(group["pools"][0]["pool"], "json");
    assert_eq!(group["pools"][0]["entries"], 1);
    assert_eq!(group["threads"][0]["objects"], 1);
    assert_eq!(group["unreleased"].as_array().unwrap().len(), 0);
}
