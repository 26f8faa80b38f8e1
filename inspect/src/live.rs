//! The live view of `top`.

mod draw;
mod state;

use crate::capture::{self, capture};
use crate::error::Error;
use crate::failure::RunError;
use crate::report::build;
use crate::report::wire::Top;
use crate::source::Source;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use state::{Sort, State};
use std::io;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How long to wait for a key before looking for a new sample.
const TICK: Duration = Duration::from_millis(100);

/// The findings at one time, or the reason why there are none.
type Sample = (Instant, Result<Top, Error>);

/// Shows the live view until the user quits. The target is looked at on a thread of its own, every
/// `interval` seconds. The terminal is restored at the end, and if something panics.
///
/// # Errors
///
/// If the target cannot be looked at, before anything is shown; if the terminal cannot be used.
pub fn top(source: &Source, interval: f64) -> Result<(), RunError> {
    let mut state = State::new(capture::name(source));
    state.add(Instant::now(), build::top(&capture(source)?, None));
    let (send, samples) = channel();
    let (stop, stopped) = channel::<()>();
    let sampled = source.clone();
    let interval = Duration::from_secs_f64(interval);
    let sampler = thread::Builder::new().name("sampler".to_owned());
    sampler.spawn(move || sample(&sampled, interval, &send, &stopped))?;
    // Also makes panics restore the terminal before they are printed.
    let mut terminal = ratatui::try_init()?;
    let shown = show(&mut terminal, state, &samples);
    let restored = ratatui::try_restore();
    drop(stop);
    Ok(shown.and(restored)?)
}

/// Looks at the target until nobody wants to know, or it cannot be looked at any more.
fn sample(source: &Source, interval: Duration, send: &Sender<Sample>, stopped: &Receiver<()>) {
    let mut rest = interval;
    while let Err(RecvTimeoutError::Timeout) = stopped.recv_timeout(rest) {
        let began = Instant::now();
        let found = capture(source).map(|graph| build::top(&graph, None));
        let ended = found.is_err();
        if send.send((began, found)).is_err() || ended {
            return;
        }
        rest = interval.saturating_sub(began.elapsed());
    }
}

fn show(
    terminal: &mut ratatui::DefaultTerminal,
    mut state: State,
    samples: &Receiver<Sample>,
) -> io::Result<()> {
    loop {
        loop {
            match samples.try_recv() {
                Ok((at, Ok(top))) => state.add(at, top),
                Ok((_, Err(error))) => state.end(&error.to_string()),
                Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
            }
        }
        terminal.draw(|frame| draw::draw(frame, &state))?;
        if !event::poll(TICK)? {
            continue;
        }
        if let Event::Key(key) = event::read()? {
            if key.kind == KeyEventKind::Press && !press(&mut state, key) {
                return Ok(());
            }
        }
    }
}

/// Reacts to a key; returns whether to go on.
fn press(state: &mut State, key: KeyEvent) -> bool {
    match key.code {
        KeyCode::Char('q') | KeyCode::Esc => return false,
        KeyCode::Char('c') if key.modifiers.contains(KeyModifiers::CONTROL) => return false,
        KeyCode::Char('b') => state.sort = Sort::Bytes,
        KeyCode::Char('o') => state.sort = Sort::Objects,
        KeyCode::Char('r') => state.sort = Sort::Rate,
        KeyCode::Char('n') => state.sort = Sort::Name,
        KeyCode::Tab | KeyCode::Char('t') => state.switch(),
        KeyCode::Down | KeyCode::Char('j') => state.scroll_by(1),
        KeyCode::Up | KeyCode::Char('k') => state.scroll_by(-1),
        KeyCode::PageDown => state.scroll_by(10),
        KeyCode::PageUp => state.scroll_by(-10),
        KeyCode::Home => state.scroll = 0,
        _ => {}
    }
    true
}
