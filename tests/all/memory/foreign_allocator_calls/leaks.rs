//! Leak reports and figures.

use super::*;
use releasepool::{leaks, metrics};

pub(super) const ROWS: &[Row] = &[
    ("leaks", || {
        call(|| leaks::count_references(["Kept"]));
        call(|| leaks::record_backtraces(true));
        let kept = call(|| Ref::new(Kept));
        call(|| leaks::expect_gone(Ref::downgrade(&kept), "kept"));
        call(|| autoreleasepool(|pool| _ = pool.autorelease(kept.clone())));
        call(|| format!("{}", leaks::report()));
        call(|| drop(leaks::scope()));
        _ = call(|| std::panic::catch_unwind(|| leaks::check(|| drop(Ref::new(Kept)))));
        call(|| leaks::record_backtraces(false));
        call(|| leaks::count_references([""; 0]));
        assert!(call(|| std::panic::catch_unwind(leaks::assert_none)).is_err());
    }),
    ("leaks::LeakReport", || {
        let _object = Ref::new(Kept);
        let report = leaks::report();
        call(|| report.bytes());
        call(|| report.groups().len());
        call(|| report.is_empty());
        call(|| report.objects());
        call(|| report.unrecorded());
        cloned(report);
    }),
    ("leaks::LeakGroup", || {
        let _object = Ref::new(Kept);
        let report = leaks::report();
        for group in report.groups() {
            call(|| group.backtrace().len());
            call(|| group.bytes());
            call(|| group.objects());
            call(|| group.pooled());
            call(|| (group.pools().len(), group.site(), group.threads().count()));
            call(|| (group.type_name().len(), group.unreleased().len()));
            call(|| format!("{group}"));
            cloned(group);
        }
    }),
    ("leaks::PoolHolder", || {
        let pool = AutoreleasePool::new();
        pool.create(Kept);
        let report = leaks::report();
        let holders = report.groups().iter().flat_map(|group| group.pools());
        for holder in holders {
            cloned(holder);
        }
    }),
    ("leaks::Scope", || {
        let scope = leaks::scope();
        call(|| drop((scope.handle(), scope.report())));
        // Panics: objects that the allocator has made are alive.
        _ = call(|| std::panic::catch_unwind(|| scope.assert_none()));
        shown(scope);
        let guard = || drop(leaks::scope().assert_none_on_drop());
        _ = call(|| std::panic::catch_unwind(guard));
    }),
    ("leaks::ScopeHandle", || {
        let scope = leaks::scope();
        let handle = scope.handle();
        let entries = calls(|_| handle.enter());
        dropped(entries);
        cloned(handle);
    }),
    ("leaks::ScopeEntry", || {
        shown(leaks::scope().handle().enter())
    }),
    ("leaks::UnreleasedRetain", || {
        leaks::count_references(["Kept"]);
        let kept = Ref::new(Kept);
        let _other = kept.clone();
        let report = leaks::report();
        for retain in report.groups().iter().flat_map(|group| group.unreleased()) {
            cloned(retain);
        }
        leaks::count_references([""; 0]);
    }),
    ("metrics", || {
        call(metrics::describe);
        call(|| metrics::publish(global()));
        let report = FrameLoop::new(FrameConfig::new()).tick(|_| ());
        call(|| metrics::record_frame(&report));
        call(|| metrics::record_reclaimer("reclaimer", &shared().reclaimer.pending()));
    }),
];

struct Kept;
