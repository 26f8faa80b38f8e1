//! Event messages: what happened, to what, on which thread, and what to do about it.

use super::words::{At, Grouped};
use super::{Event, EventKind};
use std::fmt::{self, Display};

/// The greatest number of types that a message names.
const NAMED: usize = 3;

impl Display for Event {
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
    /// Returns the text of the message, in which `{...}` stands for a figure of the event, and
    /// `{one|many}` for the first word if the count is 1, and otherwise for the second.
    fn text(&self) -> &'static str {
        match self.kind {
            EventKind::NoPool => {
                "thread {thread}: {type} autoreleased without a pool{site}{again}; the root pool \
                 keeps it until drain_root or the thread's end: open a pool around this code"
            }
            EventKind::RootWatermark => {
                "thread {thread}, {pool}: {count} {entry|entries} {waits|wait}{types}; open a pool \
                 around the code that autoreleases them, or call drain_root"
            }
            EventKind::PoolWatermark => {
                "thread {thread}, {pool}: the pool has grown to {count} {entry|entries}{types}{again}; \
                 drain it more often, or open a pool around the code that autoreleases them"
            }
            EventKind::EndlessDrain => {
                "thread {thread}, {pool}: {fed_by} for {count} {generation|generations}{latest}\
                 {again}; {end}"
            }
            EventKind::CutOff => {
                "thread {thread} ended while destructors kept autoreleasing into {pool}{latest}; \
                 {count} {entry|entries} {is|are} leaked{again}: a destructor must not autorelease \
                 without end"
            }
            EventKind::Panic => {
                "thread {thread}: a destructor or closure panicked where the panic cannot be \
                 resumed{again}: {message}"
            }
            EventKind::OpenAtExit => {
                "thread {thread} ended with {count} {guard pool|guard pools} open{again}; the \
                 entries of a forgotten pool are leaked: drop pools before the thread ends"
            }
            EventKind::TokenLeft => {
                "thread {thread}, {pool}: the token pool{pushed}{site} was still open at the end of \
                 the scope around it, which has popped it{again}: pop each token in the scope that \
                 pushes it"
            }
            EventKind::PoolsOpen => {
                "thread {thread} has {count} {pool|pools} open{newest}{pushed}{site}{again}: pop \
                 each token, and drop each guard"
            }
            EventKind::BacklogWatermark => {
                "thread {thread}, {pool}: {count} {release|releases} {waits|wait} in the backlog and \
                 the inbox{types}; drains leave more each time: give drain_within a larger budget, \
                 or autorelease less"
            }
            EventKind::EpochHeld => {
                "thread {thread}, {pool}: the pool has loaded from a slot and has not been drained \
                 for {age}{again}; nothing that slots have retired meanwhile can be released: drain \
                 or drop the pool"
            }
            EventKind::HomeGone => {
                "thread {thread} dropped the last reference to a {type}, which only thread {home} \
                 may destroy, but that thread has ended{again}; the value is never destroyed: drop \
                 it earlier, or make it with new_or_anywhere"
            }
            EventKind::HotTableFull => {
                "thread {thread}: a {type} could not be made hot, as {count} {object|objects} \
                 {is|are} hot already{again}; drop the Hots and HotRefs of objects that threads do \
                 not clone all the time, and share those objects by Refs or a Slot"
            }
            EventKind::HotLetGo => {
                "thread {thread}: a hot {type} whose owner was dropped has been alive for \
                 {age}{again}; a HotRef is kept somewhere, or the thread that dropped the last one \
                 does not drain: drain a pool on that thread, or call Hot::review"
            }
            EventKind::PostsDropped => {
                "thread {thread} closed its loop while {count} {delayed post|delayed posts} \
                 {was|were} not due; {it was|they were} dropped and never run{again}: cancel \
                 delayed posts, or close the loop later"
            }
            EventKind::PostsWatermark => {
                "thread {thread}: {count} {posted closure|posted closures} {waits|wait} to be run; \
                 call run_inbox on that thread more often, or post less"
            }
            EventKind::DropsLeft => {
                "thread {thread}: {count} {value|values} {has|have} not been destroyed within the \
                 deadline{types}; give finish_drops more time, or look for a destructor that takes \
                 long or waits"
            }
            EventKind::NotFinished => {
                "thread {thread}: something is left at the end of the process, {message}; give the \
                 FinishGuard more time, or end what is left before it is dropped"
            }
            EventKind::ForeignLeft => {
                "thread {thread} dropped a RemoteRelease of {type} that it does not own, with \
                 {count} {reference|references}; {it is|they are} leaked{again}: drain or close it \
                 on its owner first"
            }
            #[cfg(feature = "leak-detection")]
            EventKind::StillAlive => {
                "thread {thread}: {name} ({type}) is still alive after the drains in which it should \
                 have died{again}: {count} {strong reference|strong references}{detail}"
            }
            #[cfg(feature = "leak-detection")]
            EventKind::ContendedCount => {
                "thread {thread}: threads retain a {type} by turns, more than a thousand times in a \
                 second, here{site}{again}; borrow it by & or PoolRef where it is only read, make \
                 it Hot, or put it into a Slot"
            }
            EventKind::FenceRefused => {
                "thread {thread}: the kernel has refused membarrier{again}; nothing that slots have \
                 retired is released: allow this system call, or forbid it before the first use of \
                 a slot"
            }
            EventKind::OrphansWaiting => {
                "thread {thread}: {count} {release|releases} {has|have} waited for {age}{again}, as \
                 no thread drains a pool; any thread may make {it|them}: open and close pools on \
                 some thread, or call quiesce"
            }
        }
    }

    fn write_message(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.text();
        while let Some((before, after)) = rest.split_once('{') {
            f.write_str(before)?;
            let (figure, after) = after.split_once('}').unwrap_or((after, ""));
            self.write_figure(f, figure)?;
            rest = after;
        }
        f.write_str(rest)
    }

    fn write_figure(&self, f: &mut fmt::Formatter<'_>, figure: &str) -> fmt::Result {
        let type_name = self.type_name.unwrap_or("an unknown type");
        if let Some((one, many)) = figure.split_once('|') {
            return f.write_str(if self.count == 1 { one } else { many });
        }
        match figure {
            "thread" => f.write_str(&self.thread),
            "pool" => self.write_pool(f),
            "type" => f.write_str(type_name),
            "count" => Grouped(self.count).fmt(f),
            "types" => self.write_types(f),
            "site" => At(self.site).fmt(f),
            "again" if self.occurrences <= 1 => Ok(()),
            "again" => write!(f, " ({} times so far)", Grouped(self.occurrences)),
            "age" => fmt::Debug::fmt(&self.age.unwrap_or_default(), f),
            "home" => f.write_str(self.home.as_deref().unwrap_or("an unknown one")),
            "message" => f.write_str(self.message.as_deref().unwrap_or("(no message)")),
            "pushed" => f.write_str(self.site.map_or("", |_| " pushed")),
            "newest" => f.write_str(self.pool.as_ref().map_or("", |_| ", the newest token pool")),
            "latest" if self.type_name.is_none() => Ok(()),
            "latest" => write!(f, ", the latest a {type_name}"),
            "fed_by" if self.fed_by.is_empty() => {
                f.write_str("destructors have autoreleased into the drain that runs them")
            }
            "fed_by" => {
                let released = self.fed_by;
                write!(f, "the drain has released {released}, which led to others")
            }
            "end" if self.count > 1_000 => f.write_str("the drain leaves the rest for later"),
            "end" => f.write_str("the drain ends only when they stop"),
            #[cfg(feature = "leak-detection")]
            "name" => f.write_str(self.name.as_deref().unwrap_or("an object")),
            #[cfg(feature = "leak-detection")]
            "detail" => match &self.detail {
                Some(detail) => write!(f, "; {detail}"),
                None => Ok(()),
            },
            _ => unreachable!("a figure that events do not have: {figure}"),
        }
    }

    /// Writes the pool: `pool "ui" of manager "physics"`.
    fn write_pool(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "pool {:?}", self.pool.as_deref().unwrap_or("unnamed"))?;
        match &self.manager {
            Some(manager) => write!(f, " of manager {manager:?}"),
            None => Ok(()),
        }
    }

    /// Writes the types: `, most of them String (9,000), i32 (700)`.
    fn write_types(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (types, sampled, count) = (&self.types, self.sampled, self.count);
        for (nth, (name, n)) in types.iter().take(NAMED).enumerate() {
            match nth {
                0 if sampled < count => {
                    write!(f, ", {} of which were sampled: ", Grouped(sampled))?;
                }
                0 if count == 1 => return write!(f, ", a {name}"),
                0 if types.len() == 1 => return write!(f, ", all of them {name}"),
                0 => f.write_str(", most of them ")?,
                _ => f.write_str(", ")?,
            }
            write!(f, "{name} ({})", Grouped(*n))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::Location;
    use std::time::Duration;

    fn event(kind: EventKind) -> Event {
        Event::new(kind, "main (#0.1)".to_owned())
    }

    fn assert_says(event: &Event, words: &str) {
        let message = event.to_string();
        assert!(message.contains(words), "{message}");
    }

    #[test]
    fn the_most_common_types_are_named() {
        let root = |n| event(EventKind::RootWatermark).count(n);
        let types = vec![("String", 9_000), ("i32", 700), ("u8", 200), ("u16", 100)];
        let words = "10,000 entries wait, most of them String (9,000), i32 (700), u8 (200);";
        assert_says(&root(10_000).types(types, 10_000), words);
        let all = root(10).types(vec![("String", 10)], 10);
        assert_says(&all, "10 entries wait, all of them String;");
        let one = root(1).types(vec![("String", 1)], 1);
        assert_says(&one, "1 entry waits, a String;");
    }

    #[test]
    fn the_site_of_a_call_is_named() {
        let here = Location::caller();
        let stray = event(EventKind::NoPool).of_type("String");
        assert_says(&stray, ": String autoreleased without a pool; ");
        let words = format!(" without a pool at {here} (10 times so far); ");
        assert_says(&stray.at(here).times(10), &words);
    }

    #[test]
    fn a_count_of_one_takes_the_singular() {
        use EventKind::*;
        for (kind, count, words) in [
            (OpenAtExit, 1, "ended with 1 guard pool open;"),
            (OpenAtExit, 2, "ended with 2 guard pools open;"),
            (CutOff, 1, "; 1 entry is leaked:"),
            (CutOff, 2, "; 2 entries are leaked:"),
            (PostsDropped, 1, "1 delayed post was not due; it was"),
            (PostsDropped, 2, "2 delayed posts were not due; they were"),
            (ForeignLeft, 1, "with 1 reference; it is leaked:"),
            (ForeignLeft, 2, "with 2 references; they are leaked:"),
            (BacklogWatermark, 1, "1 release waits in the backlog"),
            (
                EndlessDrain,
                1_000,
                "runs them for 1,000 generations, the latest a T; the drain ends only",
            ),
            (
                EndlessDrain,
                1_001,
                "1,001 generations, the latest a T; the drain leaves the rest",
            ),
        ] {
            assert_says(&event(kind).pool("p").of_type("T").count(count), words);
        }
        let of_no_type = event(CutOff).pool("p").count(2);
        assert_says(&of_no_type, "autoreleasing into pool \"p\"; 2 entries");
    }

    #[test]
    fn earlier_occurrences_are_counted() {
        use EventKind::*;
        let mut panic = event(Panic).times(100);
        panic.message = Some("bomb".to_owned());
        assert_says(&panic, " (100 times so far): bomb");
        let of_pools = [NoPool, PoolWatermark, EndlessDrain, CutOff, OpenAtExit];
        let others = [EpochHeld, HomeGone, ForeignLeft, PostsDropped];
        for kind in of_pools.into_iter().chain(others) {
            let once = event(kind).age(Duration::from_secs(1));
            assert!(!once.to_string().contains("so far"), "{once}");
            assert_says(&once.times(1_000), " (1,000 times so far)");
        }
    }
}
