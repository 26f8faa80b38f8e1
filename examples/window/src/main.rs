//! A window full of sprites: each frame creates some thousand objects and destroys as many, a worker loads
//! textures that only the window's thread may touch, and what the library knows of it all is drawn below.
//!
//! `cargo run --release -p releasepool-window`
//!
//! The event loop is winit's, and calls [`FrameLoop::tick`] for each frame, which also runs what
//! other threads sent. For frames on demand, `FrameLoop::set_wake_hook` would have to wake winit.

mod canvas;
mod figures;
mod scene;

use canvas::Canvas;
use clap::Parser;
use figures::Figures;
use releasepool::{FrameLoop, PoolManager, frame::FrameConfig};
use scene::Scene;
use softbuffer::{Context, Surface};
use std::error::Error;
use std::fs::File;
use std::io::BufReader;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, Instant};
use winit::application::ApplicationHandler;
use winit::dpi::PhysicalSize;
use winit::event::{StartCause, WindowEvent};
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop, OwnedDisplayHandle};
use winit::window::{Window, WindowId};

const FRAME: Duration = Duration::from_nanos(1_000_000_000 / 60);

/// Shows sprites, and the pools that hold what they are made of.
#[derive(Parser)]
struct Options {
    /// Ends after this many frames with all textures.
    #[arg(long)]
    frames: Option<u64>,
    /// Writes the last frame to this PNG file. Needs --frames.
    #[arg(long, requires = "frames")]
    screenshot: Option<PathBuf>,
    /// Fails if the sprites of the last frame are not those of this PNG file, a screenshot after as many frames.
    #[arg(long, requires = "frames")]
    check: Option<PathBuf>,
}

type Shown = Surface<OwnedDisplayHandle, Rc<Window>>;
type Failure = Box<dyn Error>;

struct App {
    options: Options,
    frames: FrameLoop,
    scene: Scene,
    figures: Figures,
    canvas: Canvas,
    context: Context<OwnedDisplayHandle>,
    window: Option<(Rc<Window>, Shown)>,
    next: Instant,
    result: Result<(), Failure>,
}

impl App {
    /// Makes a frame, and shows it.
    fn draw(&mut self) -> Result<(), Failure> {
        let Self { scene, canvas, .. } = self;
        let report = self.frames.tick(|frame| {
            scene.update(frame);
            canvas.clear();
            scene.draw(frame, canvas);
        });
        self.figures.add(&report);
        self.figures.draw(&mut self.canvas, &self.scene);
        if let Some((window, surface)) = &mut self.window {
            let PhysicalSize { width, height } = window.inner_size();
            if let (Some(w), Some(h)) = (NonZero::new(width), NonZero::new(height)) {
                surface.resize(w, h)?;
                let mut buffer = surface.buffer_mut()?;
                self.canvas.scale_to(&mut buffer, width, height);
                window.pre_present_notify();
                buffer.present()?;
            }
        }
        Ok(())
    }

    fn is_last(&self) -> bool {
        let now = self.scene.now();
        self.options.frames.is_some_and(|frames| now >= frames)
    }

    fn open(&mut self, events: &ActiveEventLoop) -> Result<(), Failure> {
        let size = PhysicalSize::new(canvas::WIDTH, canvas::HEIGHT);
        let attributes = Window::default_attributes();
        let attributes = attributes.with_title("releasepool").with_inner_size(size);
        let window = Rc::new(events.create_window(attributes)?);
        let surface = Surface::new(&self.context, window.clone())?;
        self.window = Some((window, surface));
        Ok(())
    }
}

impl ApplicationHandler for App {
    fn resumed(&mut self, events: &ActiveEventLoop) {
        self.result = self.open(events);
        if self.result.is_err() {
            events.exit();
        }
    }

    fn new_events(&mut self, events: &ActiveEventLoop, _: StartCause) {
        let now = Instant::now();
        if self.next <= now {
            if let Some((window, _)) = &self.window {
                window.request_redraw();
            }
            // A late frame does not make the next ones follow without a pause.
            self.next = (self.next + FRAME).max(now);
        }
        events.set_control_flow(ControlFlow::WaitUntil(self.next));
    }

    fn window_event(&mut self, events: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        match event {
            WindowEvent::CloseRequested => events.exit(),
            WindowEvent::RedrawRequested => {
                self.result = self.draw();
                if self.result.is_err() || self.is_last() {
                    events.exit();
                }
            }
            _ => {}
        }
    }
}

fn main() -> Result<(), Failure> {
    let options = Options::parse();
    let events = EventLoop::new()?;
    let frames = FrameLoop::new(FrameConfig::new().frames_per_second(60));
    let mut app = App {
        scene: Scene::new(frames.proxy().thread())?,
        figures: Figures::default(),
        canvas: Canvas::new(),
        context: Context::new(events.owned_display_handle())?,
        window: None,
        next: Instant::now(),
        result: Ok(()),
        options,
        frames,
    };
    events.run_app(&mut app)?;
    app.result?;
    if let Some(file) = &app.options.screenshot {
        write(file, &app.canvas)?;
    }
    if let Some(file) = &app.options.check {
        check(file, &app.canvas)?;
    }
    // Everything that was made is destroyed: sprites here, textures where they were made.
    drop(app.scene);
    drop(app.frames);
    let live = PoolManager::global().snapshot().live_objects();
    println!("{live} objects are left");
    assert_eq!(live, 0);
    Ok(())
}

/// Compares the part with the sprites; the figures below depend on the machine.
fn check(file: &Path, canvas: &Canvas) -> Result<(), Failure> {
    let mut reader = png::Decoder::new(BufReader::new(File::open(file)?)).read_info()?;
    let mut there = vec![0; reader.output_buffer_size().ok_or("too large")?];
    reader.next_frame(&mut there)?;
    let sky = (canvas::WIDTH * canvas::SKY * 3) as usize;
    let both = there.iter().zip(canvas.rgb()).take(sky);
    let differ = both.filter(|(one, other)| one.abs_diff(*other) > 8).count();
    match differ * 100 > sky {
        true => Err(format!(
            "{differ} of {sky} bytes are not those of {}",
            file.display()
        )
        .into()),
        false => Ok(()),
    }
}

fn write(file: &Path, canvas: &Canvas) -> Result<(), Failure> {
    let mut encoder = png::Encoder::new(File::create(file)?, canvas::WIDTH, canvas::HEIGHT);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    encoder.write_header()?.write_image_data(&canvas.rgb())?;
    Ok(())
}
