//! What can be serialized: reports of `leaks`, and references.

use releasepool::{AutoreleasePool, Ref, Weak, leaks, unsize};
use std::ffi::{CStr, OsStr};
use std::fmt::Debug;
use std::path::Path;

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

/// Asserts that a reference is serialized as its value is, and back.
fn there_and_back<T>(object: Ref<T>, text: &str)
where
    T: ?Sized + serde::Serialize + PartialEq + Debug,
    Ref<T>: serde::de::DeserializeOwned,
{
    assert_eq!(serde_json::to_string(&object).unwrap(), text);
    let back: Ref<T> = serde_json::from_str(text).unwrap();
    assert_eq!((&*back, Ref::strong_count(&back)), (&*object, 1));
}

#[test]
fn references_are_serialized_as_their_values() {
    there_and_back(Ref::new(7), "7");
    there_and_back(Ref::new(Some(String::from("a"))), r#""a""#);
    there_and_back(Ref::<str>::from("text"), r#""text""#);
    there_and_back(Ref::<[u8]>::from([1, 2]), "[1,2]");
    there_and_back(Ref::<[Ref<str>]>::from(["a".into()]), r#"["a"]"#);
    there_and_back(Ref::<Path>::from(Path::new("a/b")), r#""a/b""#);
    there_and_back(Ref::<CStr>::from(c"a"), "[97]");
    #[cfg(unix)]
    there_and_back(Ref::<OsStr>::from(OsStr::new("a")), r#"{"Unix":[97]}"#);
    assert!(serde_json::from_str::<Ref<u8>>("256").is_err());
    assert!(serde_json::from_str::<Ref<[u8]>>("[1,").is_err());
}

#[test]
fn weak_and_unsized_references_are_serialized() {
    let slice: Ref<[u8]> = unsize!(Ref::new([1, 2]) => [u8]);
    let weak = Ref::downgrade(&slice);
    assert_eq!(
        serde_json::to_string(&(&slice, &weak)).unwrap(),
        "[[1,2],[1,2]]"
    );
    drop(slice);
    assert_eq!(serde_json::to_string(&[weak]).unwrap(), "[null]");
    assert_eq!(serde_json::to_string(&Weak::<u8>::new()).unwrap(), "null");
}
