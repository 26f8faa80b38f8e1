//! Event messages: what happened, to what, on which thread, and what to do about it.

use super::numbers::{CountAndNoun, Grouped};
use super::place::At;
use super::{Event, EventKind};
use std::fmt;

/// The greatest number of types that a message names.
const NAMED: usize = 3;

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_message(f)?;
        if let Some(site) = self.created_at {
            write!(f, "; created at {site}")?;
        }
        #[cfg(feature = "leak-detection")]
        if let Some(next_step) = &self.next_step {
            write!(f, "; {next_step}")?;
        }
        Ok(())
    }
}

impl Event {
    // `fmt` calls this function, so that it costs nothing without the feature.
    #[inline(always)]
    fn write_message(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let pool = PoolName(self);
        let of = self.type_name.unwrap_or("an unknown type");
        let (thread, types, again) = (&self.thread, TypeList(self), SoFar(self.occurrences));
        let site = At(self.site);
        let counted = |one, many| CountAndNoun(self.count, one, many);
        let is_one = self.count == 1;
        let pushed = if self.site.is_some() { " pushed" } else { "" };
        match self.kind {
            EventKind::NoPool => write!(
                f,
                "thread {thread}: {of} autoreleased without a pool{site}{again}; the root pool keeps \
                 it until drain_root or the thread's end: open a pool around this code"
            ),
            EventKind::RootWatermark => write!(
                f,
                "thread {thread}, {pool}: {} {}{types}; open a pool around the code that \
                 autoreleases them, or call drain_root",
                counted("entry", "entries"),
                if is_one { "waits" } else { "wait" },
            ),
            EventKind::PoolWatermark => write!(
                f,
                "thread {thread}, {pool}: the pool has grown to {}{types}{again}; drain it more \
                 often, or open a pool around the code that autoreleases them",
                counted("entry", "entries"),
            ),
            EventKind::EndlessDrain => {
                write!(f, "thread {thread}, {pool}: ")?;
                match self.fed_by {
                    "" => {
                        f.write_str("destructors have autoreleased into the drain that runs them")?
                    }
                    releases => {
                        write!(f, "the drain has released {releases}, which led to others")?
                    }
                }
                write!(f, " for {}", counted("generation", "generations"))?;
                if self.type_name.is_some() {
                    write!(f, ", the latest a {of}")?;
                }
                // A drain is first reported after 1,000 generations; a report with a higher count
                // means that the drain was cut off.
                let end = if self.count > 1_000 {
                    "the drain leaves the rest for later"
                } else {
                    "the drain ends only when they stop"
                };
                write!(f, "{again}; {end}")
            }
            EventKind::CutOff => {
                write!(
                    f,
                    "thread {thread} ended while destructors kept autoreleasing into {pool}"
                )?;
                if self.type_name.is_some() {
                    write!(f, ", the latest a {of}")?;
                }
                write!(
                    f,
                    "; {} {} leaked{again}: a destructor must not autorelease without end",
                    counted("entry", "entries"),
                    if is_one { "is" } else { "are" },
                )
            }
            EventKind::Panic => write!(
                f,
                "thread {thread}: a destructor or closure panicked where the panic cannot be \
                 resumed{again}: {}",
                self.message.as_deref().unwrap_or("(no message)")
            ),
            EventKind::OpenAtExit => write!(
                f,
                "thread {thread} ended with {} open{again}; the entries of a forgotten pool are \
                 leaked: drop pools before the thread ends",
                counted("guard pool", "guard pools"),
            ),
            EventKind::TokenLeft => write!(
                f,
                "thread {thread}, {pool}: the token pool{pushed}{site} was still open at the end of the scope \
                 around it, which has popped it{again}: pop each token in the scope that pushes it",
            ),
            EventKind::PoolsOpen => write!(
                f,
                "thread {thread} has {} open{}{pushed}{site}{again}: pop each token, and drop each guard",
                counted("pool", "pools"),
                if self.pool.is_some() {
                    ", the newest token pool"
                } else {
                    ""
                },
            ),
            EventKind::BacklogWatermark => write!(
                f,
                "thread {thread}, {pool}: {} {} in the backlog and the inbox{types}; drains leave \
                 more each time: give drain_within a larger budget, or autorelease less",
                counted("release", "releases"),
                if is_one { "waits" } else { "wait" },
            ),
            EventKind::EpochHeld => write!(
                f,
                "thread {thread}, {pool}: the pool has loaded from a slot and has not been drained \
                 for {:?}{again}; nothing that slots have retired meanwhile can be released: \
                 drain or drop the pool",
                self.age.unwrap_or_default()
            ),
            EventKind::HomeGone => write!(
                f,
                "thread {thread} dropped the last reference to a {of}, which only thread {} may \
                 destroy, but that thread has ended{again}; the value is never destroyed: drop it \
                 earlier, or make it with new_or_anywhere",
                self.home.as_deref().unwrap_or("an unknown one")
            ),
            EventKind::HotTableFull => write!(
                f,
                "thread {thread}: a {of} could not be made hot, as {} {} hot already{again}; drop \
                 the Hots and HotRefs of objects that threads do not clone all the time, and share \
                 those objects by Refs or a Slot",
                counted("object", "objects"),
                if is_one { "is" } else { "are" },
            ),
            EventKind::HotLetGo => write!(
                f,
                "thread {thread}: a hot {of} whose owner was dropped has been alive for {:?}{again}; \
                 a HotRef is kept somewhere, or the thread that dropped the last one does not \
                 drain: drain a pool on that thread, or call Hot::review",
                self.age.unwrap_or_default()
            ),
            EventKind::PostsDropped => write!(
                f,
                "thread {thread} closed its loop while {} {} not due; {} dropped and never \
                 run{again}: cancel delayed posts, or close the loop later",
                counted("delayed post", "delayed posts"),
                if is_one { "was" } else { "were" },
                if is_one { "it was" } else { "they were" },
            ),
            EventKind::PostsWatermark => write!(
                f,
                "thread {thread}: {} {} to be run; call run_inbox on that thread more often, or post \
                 less",
                counted("posted closure", "posted closures"),
                if is_one { "waits" } else { "wait" },
            ),
            EventKind::DropsLeft => write!(
                f,
                "thread {thread}: {} {} not been destroyed within the deadline{types}; give \
                 finish_drops more time, or look for a destructor that takes long or waits",
                counted("value", "values"),
                if is_one { "has" } else { "have" },
            ),
            EventKind::ForeignLeft => write!(
                f,
                "thread {thread} dropped a RemoteRelease of {of} that it does not own, with {}; {} \
                 leaked{again}: drain or close it on its owner first",
                counted("reference", "references"),
                if is_one { "it is" } else { "they are" },
            ),
            #[cfg(feature = "leak-detection")]
            EventKind::StillAlive => {
                let name = self.name.as_deref().unwrap_or("an object");
                write!(
                    f,
                    "thread {thread}: {name} ({of}) is still alive after the drains in which it \
                     should have died{again}: {}",
                    counted("strong reference", "strong references"),
                )?;
                match &self.detail {
                    Some(detail) => write!(f, "; {detail}"),
                    None => Ok(()),
                }
            }
            #[cfg(feature = "leak-detection")]
            EventKind::ContendedCount => write!(
                f,
                "thread {thread}: threads retain a {of} by turns, more than a thousand times in a \
                 second, here{site}{again}; borrow it by & or PoolRef where it is only read, make it \
                 Hot, or put it into a Slot",
            ),
            EventKind::OrphansWaiting => write!(
                f,
                "thread {thread}: {} {} waited for {:?}{again}, as no thread drains a pool; any \
                 thread may make {}: open and close pools on some thread, or call quiesce",
                counted("release", "releases"),
                if is_one { "has" } else { "have" },
                self.age.unwrap_or_default(),
                if is_one { "it" } else { "them" },
            ),
        }
    }
}

/// Displays the pool: `pool "ui" of manager "physics"`.
struct PoolName<'e>(&'e Event);

impl fmt::Display for PoolName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pool {:?}", self.0.pool.as_deref().unwrap_or("unnamed"))?;
        match &self.0.manager {
            Some(manager) => write!(f, " of manager {manager:?}"),
            None => Ok(()),
        }
    }
}

/// Displays the types: `, most of them String (9,000), i32 (700)`.
struct TypeList<'e>(&'e Event);

impl fmt::Display for TypeList<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Event {
            types,
            sampled,
            count,
            ..
        } = self.0;
        for (nth, (name, n)) in types.iter().take(NAMED).enumerate() {
            match nth {
                0 if sampled < count => {
                    write!(f, ", {} of which were sampled: ", Grouped(*sampled))?;
                }
                0 if types.len() == 1 && *count == 1 => return write!(f, ", a {name}"),
                0 if types.len() == 1 => return write!(f, ", all of them {name}"),
                0 => f.write_str(", most of them ")?,
                _ => f.write_str(", ")?,
            }
            write!(f, "{name} ({})", Grouped(*n))?;
        }
        Ok(())
    }
}

/// Displays the occurrences: ` (10 times so far)`, or nothing for the first one.
struct SoFar(usize);

impl fmt::Display for SoFar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0 | 1 => Ok(()),
            n => write!(f, " ({} times so far)", Grouped(n)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn event(kind: EventKind) -> Event {
        Event::new(kind, "main (#0.1)".to_owned())
    }

    fn starts(event: &Event, start: &str) {
        let message = event.to_string();
        assert!(message.starts_with(start), "{message}");
    }

    #[test]
    fn watermark_messages_name_the_pool_its_length_and_its_types() {
        let types = vec![("String", 9_000), ("i32", 700), ("u8", 200), ("u16", 100)];
        let root = event(EventKind::RootWatermark).pool("root").count(10_000);
        starts(
            &root.clone().types(types.clone(), 10_000),
            "thread main (#0.1), pool \"root\": 10,000 entries wait, most of them String (9,000), \
             i32 (700), u8 (200); ",
        );
        starts(
            &root.clone().types(types, 4_096).manager(1, Some("physics")),
            "thread main (#0.1), pool \"root\" of manager \"physics\": 10,000 entries wait, 4,096 \
             of which were sampled: String (9,000)",
        );
        starts(
            &root.clone().types(vec![("String", 10_000)], 10_000),
            "thread main (#0.1), pool \"root\": 10,000 entries wait, all of them String; ",
        );
        starts(
            &root.count(1).types(vec![("String", 1)], 1),
            "thread main (#0.1), pool \"root\": 1 entry waits, a String; ",
        );
        let types = vec![("String", 4_000), ("i32", 96)];
        starts(
            &event(EventKind::PoolWatermark)
                .pool("level")
                .count(100_076)
                .types(types, 4_096),
            "thread main (#0.1), pool \"level\": the pool has grown to 100,076 entries, 4,096 of \
             which were sampled: String (4,000), i32 (96); drain it",
        );
        let backlog = event(EventKind::BacklogWatermark).pool("ui");
        starts(
            &backlog.clone().count(2_000),
            "thread main (#0.1), pool \"ui\": 2,000 releases wait in the backlog and the inbox; ",
        );
        starts(
            &backlog.count(1),
            "thread main (#0.1), pool \"ui\": 1 release waits in the backlog and the inbox; ",
        );
    }

    #[test]
    fn the_site_of_a_call_is_named() {
        let here = std::panic::Location::caller();
        let stray = event(EventKind::NoPool).of_type("String");
        starts(
            &stray.clone(),
            "thread main (#0.1): String autoreleased without a pool; ",
        );
        starts(
            &stray.at(here).times(10),
            &format!(
                "thread main (#0.1): String autoreleased without a pool at {}:{}:{} (10 times so \
                 far); ",
                here.file(),
                here.line(),
                here.column(),
            ),
        );
    }

    #[test]
    fn a_count_of_one_takes_the_singular() {
        let said = |kind, count, words: &str| {
            let message = event(kind).pool("p").of_type("T").count(count).to_string();
            assert!(message.contains(words), "{message}");
        };
        said(EventKind::OpenAtExit, 1, "ended with 1 guard pool open;");
        said(EventKind::OpenAtExit, 2, "ended with 2 guard pools open;");
        said(EventKind::CutOff, 1, "; 1 entry is leaked:");
        said(EventKind::CutOff, 2, "; 2 entries are leaked:");
        said(
            EventKind::PostsDropped,
            1,
            "while 1 delayed post was not due; it was dropped and",
        );
        said(
            EventKind::PostsDropped,
            2,
            "while 2 delayed posts were not due; they were dropped and",
        );
        said(
            EventKind::ForeignLeft,
            1,
            "does not own, with 1 reference; it is leaked:",
        );
        said(
            EventKind::ForeignLeft,
            2,
            "with 2 references; they are leaked:",
        );
        said(
            EventKind::EndlessDrain,
            1_000,
            "for 1,000 generations, the latest a T;",
        );
    }

    #[test]
    fn earlier_occurrences_are_counted() {
        let panic = event(EventKind::Panic).times(100);
        let message = Event {
            message: Some("bomb".to_owned()),
            ..panic
        };
        assert!(message.to_string().ends_with(" (100 times so far): bomb"));
        let kinds = [
            EventKind::NoPool,
            EventKind::PoolWatermark,
            EventKind::EndlessDrain,
            EventKind::CutOff,
            EventKind::OpenAtExit,
            EventKind::EpochHeld,
            EventKind::HomeGone,
            EventKind::ForeignLeft,
            EventKind::PostsDropped,
        ];
        for kind in kinds {
            let once = event(kind).age(Duration::from_secs(1));
            assert!(!once.to_string().contains("so far"), "{once}");
            let message = once.times(1_000).to_string();
            assert!(message.contains(" (1,000 times so far)"), "{message}");
        }
    }
}
