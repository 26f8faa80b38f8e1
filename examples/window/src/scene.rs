//! The sprites, their textures, and the worker that loads these.

use crate::canvas::{Canvas, SKY, WIDTH};
use releasepool::frame::Frame;
use releasepool::home::PendingHome;
use releasepool::{HomeRef, Looper, PoolRef, Ref, ThreadHandle};
use std::cell::Cell;
use std::io;
use std::marker::PhantomData;
use std::rc::Rc;
use std::sync::mpsc::{self, Receiver};

/// Kinds of sprites, each with a texture.
const KINDS: usize = 6;
const SIZE: u32 = 24;
/// Sprites that a frame adds.
const NEW: usize = 12;
/// Sprites of a burst.
const BURST: usize = 1_500;
/// The number of frames from one burst to the next.
const BURST_EVERY: u64 = 90;

/// Stands for what a graphics driver holds: it may be used and destroyed on the window's thread only.
pub struct Texture {
    pixels: Vec<u32>,
    _stays: PhantomData<Rc<()>>,
}

impl Texture {
    /// Returns the image of a kind. Takes long, as if it were read from a file.
    fn load(kind: usize) -> Vec<u32> {
        let colors: [u32; KINDS] = [
            0xff_5a_36, 0xff_c0_45, 0x6a_e0_6a, 0x45_c6_ff, 0x8c_7b_ff, 0xff_6a_c6,
        ];
        let center = (SIZE as f32 - 1.0) / 2.0;
        let light = |at: u32| {
            let (x, y) = ((at % SIZE) as f32 - center, (at / SIZE) as f32 - center);
            (1.0 - x.hypot(y) / center).max(0.0).powi(3)
        };
        let pixel = |at: u32| {
            let of = |shift: u32| ((colors[kind] >> shift & 255) as f32 * light(at)) as u32;
            of(16) << 16 | of(8) << 8 | of(0)
        };
        (0..SIZE * SIZE).map(pixel).collect()
    }
}

struct Sprite {
    kind: usize,
    /// The texture's reference may be dropped on any thread; the texture dies at home.
    texture: HomeRef<Texture>,
    at: Cell<(f32, f32)>,
    speed: (f32, f32),
    born: u64,
    lives: u64,
}

impl Sprite {
    fn age(&self, now: u64) -> f32 {
        (now - self.born) as f32 / self.lives as f32
    }

    fn step(&self) {
        let ((x, y), (dx, dy)) = (self.at.get(), self.speed);
        self.at.set((x + dx, y + dy));
    }
}

/// A draw command for one sprite: a temporary, which the frame's pool owns.
struct Glow {
    sprite: Ref<Sprite>,
    light: u32,
}

pub struct Scene {
    sprites: Vec<Ref<Sprite>>,
    textures: [Option<HomeRef<Texture>>; KINDS],
    loading: Receiver<(usize, PendingHome<Texture>)>,
    coming: Vec<(usize, PendingHome<Texture>)>,
    random: fastrand::Rng,
    /// The number of updates since all textures were there: what the sprites depend on.
    now: u64,
    /// Dropped last: the drop waits for the loader's thread.
    _loader: Looper,
}

impl Scene {
    /// Has a worker load the textures, which are made on the thread of the window.
    pub fn new(window: &ThreadHandle) -> io::Result<Self> {
        let loader = Looper::spawn("loader")?;
        let (send, loading) = mpsc::channel();
        for kind in 0..KINDS {
            let (send, window) = (send.clone(), window.clone());
            let load = move || {
                let pixels = Texture::load(kind);
                let made = HomeRef::new_on(&window, move || Texture {
                    pixels,
                    _stays: PhantomData,
                });
                // The window may have been closed meanwhile.
                let _ = send.send((kind, made));
            };
            loader.post(load).expect("the loader has just begun");
        }
        Ok(Self {
            sprites: Vec::new(),
            textures: [const { None }; KINDS],
            loading,
            coming: Vec::new(),
            random: fastrand::Rng::with_seed(7),
            now: 0,
            _loader: loader,
        })
    }

    pub fn sprites(&self) -> usize {
        self.sprites.len()
    }

    /// Returns the number of updates since all textures were there.
    pub fn now(&self) -> u64 {
        self.now
    }

    pub fn textures(&self) -> usize {
        self.textures.iter().flatten().count()
    }

    /// Takes the textures that have come, moves all sprites, adds new ones and lets old ones go.
    pub fn update(&mut self, frame: &Frame<'_>) {
        self.coming.extend(self.loading.try_iter());
        self.coming
            .retain(|(kind, texture)| match texture.try_get() {
                Some(made) => {
                    self.textures[*kind] = made.ok();
                    false
                }
                None => true,
            });
        if self.textures() < KINDS {
            return;
        }
        let now = self.now;
        self.now += 1;
        let mut left = Vec::with_capacity(self.sprites.len() + NEW);
        for sprite in self.sprites.drain(..) {
            sprite.step();
            if sprite.age(now) < 1.0 {
                left.push(sprite);
            } else {
                // Destroyed when the frame ends; thousands at once, when several frames end.
                frame.pool().autorelease(sprite);
            }
        }
        self.sprites = left;
        if now % BURST_EVERY == 0 {
            let (x, y) = (
                self.within(80.0, WIDTH as f32 - 80.0),
                self.within(50.0, 170.0),
            );
            let kind = self.random.usize(..KINDS);
            (0..BURST).for_each(|_| self.add(kind, (x, y), 2.2, 80, now));
        }
        let x = WIDTH as f32 * (0.5 + 0.4 * (now as f32 / 40.0).sin());
        for _ in 0..NEW {
            let kind = self.random.usize(..KINDS);
            self.add(kind, (x, SKY as f32 - 10.0), 1.4, 120, now);
        }
    }

    fn within(&mut self, low: f32, high: f32) -> f32 {
        low + (high - low) * self.random.f32()
    }

    fn add(&mut self, kind: usize, at: (f32, f32), speed: f32, lives: u64, now: u64) {
        let Some(texture) = self.textures[kind].clone() else {
            return;
        };
        let angle = self.within(0.0, std::f32::consts::TAU);
        let speed = speed * self.random.f32().sqrt();
        let lives = lives / 2 + self.random.u64(..lives / 2);
        self.sprites.push(Ref::new(Sprite {
            kind,
            texture,
            at: Cell::new(at),
            speed: (angle.cos() * speed, angle.sin() * speed - 0.8),
            born: now,
            lives,
        }));
    }

    /// Draws all sprites, ordered by kind, like a renderer that changes textures rarely.
    pub fn draw(&self, frame: &Frame<'_>, canvas: &mut Canvas) {
        let mut glows: [Vec<PoolRef<'_, Glow>>; KINDS] = Default::default();
        for sprite in &self.sprites {
            let light = (120.0 * (1.0 - sprite.age(self.now))) as u32;
            let sprite = sprite.clone();
            glows[sprite.kind].push(frame.pool().create(Glow { sprite, light }));
        }
        for glow in glows.iter().flatten() {
            let sprite = &glow.sprite;
            sprite
                .texture
                .with(|texture| canvas.add(&texture.pixels, SIZE, sprite.at.get(), glow.light));
        }
    }
}
