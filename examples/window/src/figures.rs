//! What the library knows of the last frames, drawn below the sprites.

use crate::canvas::{Canvas, HEIGHT, SKY, WIDTH};
use crate::scene::Scene;
use embedded_graphics::Drawable;
use embedded_graphics::geometry::Point;
use embedded_graphics::mono_font::{MonoTextStyle, ascii::FONT_6X10};
use embedded_graphics::pixelcolor::Rgb888;
use embedded_graphics::primitives::{Line, Primitive, PrimitiveStyle};
use embedded_graphics::text::Text;
use releasepool::{PoolManager, frame::FrameReport};
use std::collections::VecDeque;
use std::time::Duration;

/// The height of the bar of a frame that takes a sixtieth of a second.
const FULL: i32 = 60;
/// Where the bars begin.
const LEFT: i32 = 330;

const SOFT: Rgb888 = Rgb888::new(0x8a, 0x93, 0xa0);
const BUSY: Rgb888 = Rgb888::new(0x45, 0xc6, 0xff);
const DRAIN: Rgb888 = Rgb888::new(0xff, 0x6a, 0xc6);

/// The last frames: how long each was busy, and how long its pool was drained.
#[derive(Default)]
pub struct Figures {
    frames: VecDeque<(Duration, Duration)>,
    created: u64,
    lines: Vec<String>,
}

impl Figures {
    pub fn add(&mut self, report: &FrameReport) {
        self.frames.push_back((report.busy, report.drained.elapsed));
        if self.frames.len() > WIDTH as usize - LEFT as usize - 10 {
            self.frames.pop_front();
        }
        let snapshot = PoolManager::global().snapshot();
        let created: u64 = snapshot
            .threads
            .iter()
            .map(|thread| thread.totals.created)
            .sum();
        let backlog: usize = snapshot.threads.iter().map(|thread| thread.backlog).sum();
        self.lines = vec![
            format!("frame {}", report.index),
            format!("created in it     {:>6}", created - self.created),
            format!("released in it    {:>6}", report.drained.released),
            format!("left for later    {:>6}", backlog),
            format!("live objects      {:>6}", snapshot.live_objects()),
        ];
        self.created = created;
    }

    pub fn draw(&self, canvas: &mut Canvas, scene: &Scene) {
        let mut lines = self.lines.clone();
        lines.push(format!("sprites           {:>6}", scene.sprites()));
        lines.push(format!("textures at home  {:>6}", scene.textures()));
        for (row, line) in lines.iter().enumerate() {
            write(canvas, line, (10, SKY as i32 + 16 + 12 * row as i32), SOFT);
        }
        let bottom = HEIGHT as i32 - 10;
        let height =
            |time: Duration| (time.as_secs_f32() * 60.0 * FULL as f32).min(FULL as f32) as i32;
        for (at, (busy, drained)) in self.frames.iter().enumerate() {
            let x = LEFT + at as i32;
            bar(canvas, x, bottom, height(*busy), BUSY);
            bar(canvas, x, bottom, height(*drained), DRAIN);
        }
        write(canvas, "frames: busy,", (LEFT, SKY as i32 + 16), BUSY);
        write(
            canvas,
            "of that in drains",
            (LEFT + 84, SKY as i32 + 16),
            DRAIN,
        );
        write(
            canvas,
            "(height: 1/60 s)",
            (LEFT + 192, SKY as i32 + 16),
            SOFT,
        );
    }
}

fn write(canvas: &mut Canvas, text: &str, (x, y): (i32, i32), color: Rgb888) {
    let style = MonoTextStyle::new(&FONT_6X10, color);
    let Ok(_) = Text::new(text, Point::new(x, y), style).draw(canvas);
}

fn bar(canvas: &mut Canvas, x: i32, bottom: i32, height: i32, color: Rgb888) {
    let line = Line::new(Point::new(x, bottom), Point::new(x, bottom - height));
    let Ok(()) = line
        .into_styled(PrimitiveStyle::with_stroke(color, 1))
        .draw(canvas);
}
