//! Leak reports and figures.

use super::*;
use releasepool::{leaks, metrics};

pub(super) fn rows() -> Vec<Row> {
    vec![
        (
            "leaks",
            "assert_none count_references expect_gone record_backtraces report scope",
            || {
                call(|| leaks::count_references(["Kept"]));
                call(|| leaks::record_backtraces(true));
                let kept = call(|| Ref::new(Kept));
                call(|| leaks::expect_gone(Ref::downgrade(&kept), "kept"));
                call(|| autoreleasepool(|pool| _ = pool.autorelease(kept.clone())));
                call(|| format!("{}", leaks::report()));
                call(|| drop(leaks::scope()));
                call(|| leaks::record_backtraces(false));
                call(|| leaks::count_references([""; 0]));
                assert!(call(|| std::panic::catch_unwind(leaks::assert_none)).is_err());
            },
        ),
        (
            "leaks::LeakReport",
            "bytes groups is_empty objects unrecorded clone fmt",
            || {
                let _object = Ref::new(Kept);
                let report = leaks::report();
                call(|| {
                    (
                        report.bytes(),
                        report.groups().len(),
                        report.is_empty(),
                        report.objects(),
                    )
                });
                call(|| report.unrecorded());
                cloned(report);
            },
        ),
        (
            "leaks::LeakGroup",
            "backtrace bytes objects pooled pools site threads type_name unreleased clone \
          fmt",
            || {
                let _object = Ref::new(Kept);
                let report = leaks::report();
                for group in report.groups() {
                    call(|| {
                        (
                            group.backtrace().len(),
                            group.bytes(),
                            group.objects(),
                            group.pooled(),
                        )
                    });
                    call(|| (group.pools().len(), group.site(), group.threads().count()));
                    call(|| (group.type_name().len(), group.unreleased().len()));
                    call(|| format!("{group}"));
                    cloned(group);
                }
            },
        ),
        ("leaks::PoolHolder", "entries pool thread clone fmt", || {
            let pool = AutoreleasePool::new();
            pool.create(Kept);
            let report = leaks::report();
            let holders = report.groups().iter().flat_map(|group| group.pools());
            for holder in holders {
                call(|| (holder.entries(), holder.pool().len(), holder.thread().len()));
                cloned(holder);
            }
        }),
        ("leaks::Scope", "assert_none handle report fmt", || {
            let scope = leaks::scope();
            call(|| drop((scope.handle(), scope.report())));
            // Panics: objects that the allocator has made are alive.
            _ = call(|| std::panic::catch_unwind(|| scope.assert_none()));
            shown(scope);
        }),
        ("leaks::ScopeHandle", "enter clone fmt", || {
            let scope = leaks::scope();
            let handle = scope.handle();
            let entries = calls(|_| handle.enter());
            entries.into_iter().for_each(|entry| call(|| drop(entry)));
            cloned(handle);
        }),
        ("leaks::ScopeEntry", "drop fmt", || {
            shown(leaks::scope().handle().enter())
        }),
        (
            "leaks::UnreleasedRetain",
            "count place thread clone fmt",
            || {
                leaks::count_references(["Kept"]);
                let kept = Ref::new(Kept);
                let _other = kept.clone();
                let report = leaks::report();
                for retain in report.groups().iter().flat_map(|group| group.unreleased()) {
                    call(|| (retain.count(), retain.place().len(), retain.thread().len()));
                    cloned(retain);
                }
                leaks::count_references([""; 0]);
            },
        ),
        (
            "metrics",
            "describe publish record_frame record_reclaimer",
            || {
                call(metrics::describe);
                call(|| metrics::publish(global()));
                let report = FrameLoop::new(FrameConfig::new()).tick(|_| ());
                call(|| metrics::record_frame(&report));
                call(|| metrics::record_reclaimer("reclaimer", &shared().looper.pending()));
            },
        ),
    ]
}

struct Kept;
