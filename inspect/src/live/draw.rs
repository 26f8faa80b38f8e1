//! Draws the live view.

use super::state::{Sort, State, View};
use crate::report::text::{bytes, frames, number, thread_name};
use crate::report::wire::Top;
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Text;
use ratatui::widgets::{Cell, Row, Table};
use std::iter;

/// The keys and their effects; spaces within an explanation do not break.
const KEYS: &str = "q\u{a0}quit  tab\u{a0}types/threads  b\u{a0}bytes  o\u{a0}objects  \
                    r\u{a0}rate  n\u{a0}name";

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, state: &State) {
    let width = frame.area().width;
    let head = lines(&summary(state), width);
    let (foot, style) = match &state.ended {
        Some(why) => (format!("{why} (q quits)"), Modifier::BOLD),
        None => (KEYS.to_owned(), Modifier::DIM),
    };
    let foot = lines(&foot, width).style(style);
    let parts = [
        Constraint::Length(head.height() as u16),
        Constraint::Fill(1),
        Constraint::Length(foot.height() as u16),
    ];
    let [above, body, below] = Layout::vertical(parts).areas(frame.area());
    frame.render_widget(head, above);
    if let Some(top) = &state.top {
        match state.view {
            View::Types => types(frame, body, state),
            View::Threads => threads(frame, body, state, top),
        }
    }
    frame.render_widget(foot, below);
}

/// Breaks text into lines of this width.
fn lines(text: &str, width: u16) -> Text<'static> {
    let lines = textwrap::wrap(text, usize::from(width.max(1)));
    Text::from_iter(lines.into_iter().map(|line| line.into_owned()))
}

fn summary(state: &State) -> String {
    let title = format!("releasepool-inspect: {}", state.target);
    let Some(top) = &state.top else {
        return format!("{title}\nlooking ...");
    };
    let rate = state
        .rate
        .map_or_else(String::new, |rate| format!(" ({rate:+.0} per second)"));
    let kept = match top.kept {
        0 => String::new(),
        n => format!(
            "{} values kept for ever, as the home thread has ended",
            number(n)
        ),
    };
    format!(
        "{title}\n{} objects{rate}, {}; created {}, destroyed {}\n{kept}",
        number(top.objects),
        bytes(top.bytes),
        number(top.created),
        number(top.destroyed),
    )
}

/// A column of numbers, after the first column, which has names.
struct Column {
    title: &'static str,
    width: u16,
    /// How wide the table must be to show the column.
    from: u16,
}

const fn column(title: &'static str, width: u16, from: u16) -> Column {
    Column { title, width, from }
}

/// Draws a table with as many columns as there is room for; `sorted` is the title of the one that
/// the rows are sorted by.
fn table(
    frame: &mut Frame<'_>,
    area: Rect,
    name: &str,
    columns: &[Column],
    sorted: &str,
    rows: impl Iterator<Item = (String, Vec<String>)>,
) {
    let is_shown = |column: &&Column| area.width >= column.from;
    let shown = || columns.iter().filter(is_shown);
    let taken: u16 = shown().map(|column| column.width + 1).sum();
    let right = |text: String| Cell::from(Text::from(text).alignment(Alignment::Right));
    let title = |text: Cell<'static>, title: &str| {
        let style = Style::new().add_modifier(Modifier::REVERSED);
        text.style(match title == sorted {
            true => style.add_modifier(Modifier::BOLD),
            false => style,
        })
    };
    let header = shown().map(|column| title(right(column.title.to_owned()), column.title));
    let header = iter::once(title(Cell::from(name.to_owned()), name)).chain(header);
    let rows = rows.map(|(name, values)| {
        let values = values.into_iter().zip(columns);
        let values = values
            .filter(|(_, column)| is_shown(column))
            .map(|(value, _)| right(value));
        let name = end_of(&name, area.width.saturating_sub(taken).into());
        Row::new(iter::once(Cell::from(name)).chain(values))
    });
    let widths = shown().map(|column| Constraint::Length(column.width));
    let widths = iter::once(Constraint::Fill(1)).chain(widths);
    frame.render_widget(Table::new(rows, widths).header(Row::new(header)), area);
}

/// Returns a name, or its end if it has more than `most` characters: types differ there.
fn end_of(name: &str, most: usize) -> String {
    let len = name.chars().count();
    if len <= most {
        return name.to_owned();
    }
    let end = name.chars().skip(len - most.saturating_sub(1));
    iter::once('…').chain(end).collect()
}

fn types(frame: &mut Frame<'_>, area: Rect, state: &State) {
    const COLUMNS: [Column; 3] = [
        column("objects", 11, 0),
        column("bytes", 10, 40),
        column("per second", 10, 56),
    ];
    let rows = state.types().into_iter().skip(state.scroll).map(|found| {
        let rate = found
            .rate
            .map_or_else(String::new, |rate| format!("{rate:+.0}"));
        (
            found.name.clone(),
            vec![number(found.objects), bytes(found.bytes), rate],
        )
    });
    let sorted = match state.sort {
        Sort::Name => "type",
        Sort::Objects => "objects",
        Sort::Bytes => "bytes",
        Sort::Rate => "per second",
    };
    table(frame, area, "type", &COLUMNS, sorted, rows);
}

fn threads(frame: &mut Frame<'_>, area: Rect, state: &State, top: &Top) {
    const COLUMNS: [Column; 6] = [
        column("pools", 5, 0),
        column("entries", 9, 0),
        column("largest pool", 18, 80),
        column("inbox", 7, 0),
        column("backlog", 8, 50),
        column("frames", 16, 60),
    ];
    let rows = top.threads.iter().skip(state.scroll).map(|thread| {
        let entries: u64 = thread.pools.iter().map(|pool| pool.entries).sum();
        let largest = thread.pools.iter().max_by_key(|pool| pool.entries);
        let largest = largest.map(|pool| match pool.name.as_str() {
            "" => number(pool.entries),
            name => format!("{name} {}", number(pool.entries)),
        });
        let values = vec![
            number(thread.pools.len() as u64),
            number(entries),
            largest.unwrap_or_default(),
            number(thread.inbox),
            number(thread.backlog),
            frames(thread),
        ];
        (thread_name(thread), values)
    });
    table(frame, area, "thread", &COLUMNS, "", rows);
}

#[cfg(test)]
mod tests {
    use super::{draw, end_of};
    use crate::live::state::{State, tests::sample};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use std::time::{Duration, Instant};

    fn screen(state: &State, width: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, 12)).expect("memory");
        terminal.draw(|frame| draw(frame, state)).expect("memory");
        terminal.backend().to_string()
    }

    fn has(screen: &str, texts: &[&str]) {
        for text in texts {
            assert!(screen.contains(text), "{text} is missing:\n{screen}");
        }
    }

    #[test]
    fn types_and_threads_fit_in_80_60_and_40_columns() {
        for (width, of_types, of_threads) in [
            (
                80,
                &["game::Player", "+1000", "96 B", "per second"][..],
                &["frame 12", "16.6 ms"][..],
            ),
            (
                60,
                &["game::Player", "+1000", "96 B"],
                &["backlog", "61 (16.6 ms)"],
            ),
            (40, &["game::Player", "96 B"], &["entries", "inbox"]),
        ] {
            let mut state = State::new("process 4711".to_owned());
            has(
                &screen(&state, width),
                &["looking", "q\u{a0}quit", "n\u{a0}name"],
            );
            let start = Instant::now();
            state.add(start, sample(10));
            state.add(start + Duration::from_secs(1), sample(1_010));
            let types = screen(&state, width);
            has(
                &types,
                &["process 4711", "1,012 objects", "destroyed 900", "1,010"],
            );
            has(&types, of_types);
            state.switch();
            let threads = screen(&state, width);
            has(&threads, &["main", " 12 "]);
            has(&threads, of_threads);
            state.end("process 4711 ended while it was read; there is nothing to show");
            has(
                &screen(&state, width),
                &["ended while it was read;", "(q quits)"],
            );
        }
        assert_eq!(end_of("game::gl::Texture", 9), "…:Texture");
    }
}
