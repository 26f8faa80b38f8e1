//! Tests which types can be serialized: snapshots, reports, and references.

use releasepool::frame::FrameConfig;
use releasepool::memory::BlockAllocator;
use releasepool::{AutoreleasePool, FrameLoop, PoolManager, Ref, Weak, leaks, unsize};
use serde_json::json;
use std::ffi::{CStr, OsStr};
use std::fmt::Debug;
use std::path::Path;
use std::time::Duration;

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

#[test]
fn a_snapshot_can_be_serialized() {
    let manager = PoolManager::new();
    let pool = manager.pool();
    pool.create(1);
    let snapshot = manager.snapshot();
    let json = serde_json::to_value(&snapshot).unwrap();
    assert_eq!(json["live_objects"], snapshot.live_objects());
    assert_eq!(json["orphans"], snapshot.orphans);
    assert_eq!(json["kept"], snapshot.kept);
    assert_eq!(json["hot_objects"], snapshot.hot_objects);
    assert_eq!(json["hot_let_go"], snapshot.hot_let_go);
    assert_eq!(json["departed"]["created"], snapshot.departed.created);
    let key = manager.current_thread().unwrap().key();
    let threads = json["threads"].as_array().unwrap();
    let own = threads
        .iter()
        .find(|thread| thread["key"] == key.to_string());
    let (own, thread) = (own.unwrap(), snapshot.thread(key).unwrap());
    assert_eq!(own["name"], json!(thread.name));
    assert_eq!(own["open_pools"], 1);
    for field in ["root_entries", "backlog", "inbox"] {
        assert!(own[field].is_u64(), "{field}");
    }
    let totals = own["totals"].as_object().unwrap();
    assert_eq!(totals["pools_pushed"], 1);
    assert_eq!(totals["created"], thread.totals.created);
    assert_eq!(totals.len(), 6);
}

#[test]
fn reports_of_a_frame_and_of_the_end_can_be_serialized() {
    let mut frames = FrameLoop::new(FrameConfig::new().unlimited());
    frames.proxy().post(|| ()).unwrap();
    let mut report = frames.tick(|frame| {
        frame.pool().create(String::from("temporary"));
    });
    report.busy = Duration::from_millis(1_500);
    report.drained.slowest = Some(("String", Duration::from_nanos(7)));
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!((&json["index"], &json["closures"]), (&json!(0), &json!(1)));
    assert_eq!(json["busy"], json!({ "secs": 1, "nanos": 500_000_000 }));
    assert_eq!(json["arena_high_water"], 0);
    let drained = &json["drained"];
    assert_eq!(
        (&drained["released"], &drained["remaining"]),
        (&json!(1), &json!(0))
    );
    assert_eq!(
        drained["slowest"],
        json!(["String", { "secs": 0, "nanos": 7 }])
    );
    assert_eq!(json.as_object().unwrap().len(), 9);
    // Here, as it ends the loops of all tests.
    let pool = AutoreleasePool::new();
    let report = releasepool::finish(Duration::ZERO).unwrap_err();
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["managers"][0]["name"], "global");
    assert!(json["managers"][0]["report"]["holders"].is_array());
    for list in ["loops", "drops", "kept"] {
        assert!(json[list].is_array(), "{list}");
    }
    assert_eq!(json["live_objects"], report.live_objects);
    drop(pool);
}

#[test]
fn a_report_of_a_shutdown_can_be_serialized() {
    let manager = PoolManager::new();
    let pool = manager.pool();
    let mut report = manager.shutdown(Duration::ZERO).unwrap_err();
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["holders"][0]["open_pools"], 1);
    assert_eq!(
        (&json["released"], &json["orphans"]),
        (&json!(0), &json!(0))
    );
    assert_eq!(json["epoch_holders"], json!([]));
    assert!(json["elapsed"]["secs"].is_u64());
    drop(pool);
    report = manager.shutdown(Duration::ZERO).unwrap();
    assert_eq!(serde_json::to_value(&report).unwrap()["holders"], json!([]));
}

#[test]
fn what_an_allocator_has_can_be_serialized() {
    let blocks = BlockAllocator::new();
    let _object = Ref::new_in(1u64, &blocks);
    let stats = blocks.stats();
    let json = serde_json::to_value(stats).unwrap();
    assert_eq!(json["live_blocks"], 1);
    assert_eq!(json["live_bytes"], stats.live_bytes);
    assert_eq!(json["chunk_bytes"], stats.chunk_bytes);
    assert_eq!(json["live_large_bytes"], 0);
    assert_eq!(json.as_object().unwrap().len(), 13);
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

#[test]
fn slots_are_serialized_as_what_they_hold() {
    use releasepool::Slot;
    use releasepool::slot::OptionSlot;
    let slot = Slot::new(Ref::<str>::from("text"));
    assert_eq!(serde_json::to_value(&slot).unwrap(), json!("text"));
    let slot: Slot<[u8]> = serde_json::from_value(json!([1, 2])).unwrap();
    assert_eq!(*slot.load_full(), [1, 2]);
    let some: OptionSlot<u8> = serde_json::from_value(json!(3)).unwrap();
    assert_eq!(serde_json::to_value(&some).unwrap(), json!(3));
    let none: OptionSlot<u8> = serde_json::from_value(json!(null)).unwrap();
    assert_eq!(serde_json::to_value(&none).unwrap(), json!(null));
    none.store(Some(Ref::new(3)));
    assert_eq!(serde_json::to_value(&none).unwrap(), json!(3));
}

#[test]
fn all_threads_are_listed_that_create_at_one_place() {
    fn make() -> Ref<u8> {
        Ref::new(1)
    }
    let scope = leaks::scope();
    let handle = scope.handle();
    let theirs = std::thread::spawn(move || {
        let _entry = handle.enter();
        make()
    });
    let _kept = (theirs.join().unwrap(), make());
    let report = serde_json::to_value(scope.report()).unwrap();
    let threads = report["groups"][0]["threads"].as_array().unwrap();
    assert_eq!(threads.len(), 2, "{threads:?}");
}
