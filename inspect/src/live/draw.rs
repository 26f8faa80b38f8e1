//! Draws the live view.

use super::state::{Sort, State, View};
use crate::report::text::{bytes, frames, number, thread_name};
use crate::report::wire::Top;
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Text};
use ratatui::widgets::{Cell, Paragraph, Row, Table};

const KEYS: &str = "q quit  tab types/threads  b bytes  o objects  r rate  n name";

/// Draws everything.
pub fn draw(frame: &mut Frame<'_>, state: &State) {
    let parts = [
        Constraint::Length(3),
        Constraint::Min(1),
        Constraint::Length(1),
    ];
    let [head, body, foot] = Layout::vertical(parts).areas(frame.area());
    frame.render_widget(Paragraph::new(summary(state)), head);
    if let Some(top) = &state.top {
        match state.view {
            View::Types => types(frame, body, state),
            View::Threads => threads(frame, body, state, top),
        }
    }
    let foot_line = match &state.ended {
        Some(why) => Line::styled(format!("{why} (q quits)"), Modifier::BOLD),
        None => Line::styled(KEYS, Modifier::DIM),
    };
    frame.render_widget(Paragraph::new(foot_line), foot);
}

fn summary(state: &State) -> Text<'_> {
    let title = Line::styled(
        format!("releasepool-inspect: {}", state.target),
        Modifier::BOLD,
    );
    let Some(top) = &state.top else {
        return Text::from(vec![title, Line::from("looking ...")]);
    };
    let rate = state
        .rate
        .map_or_else(String::new, |rate| format!(" ({rate:+.0} per second)"));
    let counts = format!(
        "{} objects{rate}, {}; created {}, destroyed {}",
        number(top.objects),
        bytes(top.bytes),
        number(top.created),
        number(top.destroyed),
    );
    let kept = match top.kept {
        0 => String::new(),
        n => format!(
            "{} values kept for ever, as the home thread has ended",
            number(n)
        ),
    };
    Text::from(vec![title, Line::from(counts), Line::from(kept)])
}

fn right(text: String) -> Cell<'static> {
    Cell::from(Text::from(text).alignment(Alignment::Right))
}

/// Returns the titles of columns; the one that the rows are sorted by is marked.
fn header<const N: usize>(titles: [(&'static str, bool); N]) -> Row<'static> {
    let titles = titles.into_iter().enumerate();
    let cells = titles.map(|(at, (title, sorted))| {
        let style = Style::new().add_modifier(Modifier::REVERSED);
        let style = if sorted {
            style.add_modifier(Modifier::BOLD)
        } else {
            style
        };
        let text = Text::from(title);
        let text = if at == 0 {
            text
        } else {
            text.alignment(Alignment::Right)
        };
        Cell::from(text).style(style)
    });
    Row::new(cells)
}

fn types(frame: &mut Frame<'_>, area: Rect, state: &State) {
    let rows = state.types().into_iter().skip(state.scroll).map(|found| {
        Row::new([
            Cell::from(found.name.clone()),
            right(number(found.objects)),
            right(bytes(found.bytes)),
            right(
                found
                    .rate
                    .map_or_else(String::new, |rate| format!("{rate:+.0}")),
            ),
        ])
    });
    let widths = [
        Constraint::Fill(1),
        Constraint::Length(12),
        Constraint::Length(12),
        Constraint::Length(12),
    ];
    let titles = [
        ("type", state.sort == Sort::Name),
        ("objects", state.sort == Sort::Objects),
        ("bytes", state.sort == Sort::Bytes),
        ("per second", state.sort == Sort::Rate),
    ];
    frame.render_widget(Table::new(rows, widths).header(header(titles)), area);
}

fn threads(frame: &mut Frame<'_>, area: Rect, state: &State, top: &Top) {
    let rows = top.threads.iter().skip(state.scroll).map(|thread| {
        let entries: u64 = thread.pools.iter().map(|pool| pool.entries).sum();
        let largest = thread.pools.iter().max_by_key(|pool| pool.entries);
        let largest = largest.map(|pool| match pool.name.as_str() {
            "" => number(pool.entries),
            name => format!("{name} {}", number(pool.entries)),
        });
        Row::new([
            Cell::from(thread_name(thread)),
            right(number(thread.pools.len() as u64)),
            right(number(entries)),
            right(largest.unwrap_or_default()),
            right(number(thread.inbox)),
            right(number(thread.backlog)),
            right(frames(thread)),
        ])
    });
    let widths = [
        Constraint::Fill(1),
        Constraint::Length(5),
        Constraint::Length(9),
        Constraint::Length(18),
        Constraint::Length(7),
        Constraint::Length(8),
        Constraint::Length(16),
    ];
    let titles = [
        "thread",
        "pools",
        "entries",
        "largest pool",
        "inbox",
        "backlog",
        "frames",
    ];
    let titles = titles.map(|title| (title, false));
    frame.render_widget(Table::new(rows, widths).header(header(titles)), area);
}

#[cfg(test)]
mod tests {
    use super::draw;
    use crate::live::state::{State, tests::sample};
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use std::time::{Duration, Instant};

    fn screen(state: &State) -> String {
        let mut terminal = Terminal::new(TestBackend::new(80, 10)).expect("memory");
        terminal.draw(|frame| draw(frame, state)).expect("memory");
        terminal.backend().to_string()
    }

    #[test]
    fn types_and_threads_fit_in_80_columns() {
        let mut state = State::new("process 4711".to_owned());
        assert!(screen(&state).contains("looking"));
        let start = Instant::now();
        state.add(start, sample(10));
        state.add(start + Duration::from_secs(1), sample(1_010));
        let types = screen(&state);
        for text in [
            "process 4711",
            "1,012 objects (+1000 per second)",
            "game::Player",
            "+1000",
        ] {
            assert!(types.contains(text), "{text} is missing:\n{types}");
        }
        state.switch();
        let threads = screen(&state);
        for text in ["main", "frame 12", "61 (16.6 ms)"] {
            assert!(threads.contains(text), "{text} is missing:\n{threads}");
        }
        state.end("process 4711 has ended");
        assert!(screen(&state).contains("has ended (q quits)"));
    }
}
