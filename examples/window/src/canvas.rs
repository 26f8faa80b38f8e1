//! The pixels of a frame.

use embedded_graphics::Pixel;
use embedded_graphics::draw_target::DrawTarget;
use embedded_graphics::geometry::{OriginDimensions, Size};
use embedded_graphics::pixelcolor::{Rgb888, RgbColor};
use std::convert::Infallible;

pub const WIDTH: u32 = 640;
pub const HEIGHT: u32 = 400;
/// The height of the part that has sprites; below it are the figures.
pub const SKY: u32 = 300;

/// Pixels as softbuffer wants them: blue in the lowest eight bits, then green and red.
pub struct Canvas(Vec<u32>);

impl Canvas {
    pub fn new() -> Self {
        Self(vec![0; (WIDTH * HEIGHT) as usize])
    }

    /// Paints the sky, darker towards its top, and the ground for the figures.
    pub fn clear(&mut self) {
        for (row, pixels) in self.0.chunks_mut(WIDTH as usize).enumerate() {
            let row = row as u32;
            let color = match row < SKY {
                true => 0x000a_0c1c + (row / 12) * 0x0001_0102,
                false => 0x0010_1216,
            };
            pixels.fill(color);
        }
    }

    /// Adds the light of a square image with its center at this place, dimmed to `light` of 255.
    pub fn add(&mut self, image: &[u32], size: u32, (x, y): (f32, f32), light: u32) {
        let (left, top) = (x as i32 - size as i32 / 2, y as i32 - size as i32 / 2);
        for (row, pixels) in image.chunks(size as usize).enumerate() {
            let y = top + row as i32;
            if !(0..SKY as i32).contains(&y) {
                continue;
            }
            for (column, &color) in pixels.iter().enumerate() {
                let x = left + column as i32;
                if (0..WIDTH as i32).contains(&x) {
                    let at = &mut self.0[y as usize * WIDTH as usize + x as usize];
                    *at = [16, 8, 0]
                        .map(|shift| {
                            let sum = (*at >> shift & 255) + (color >> shift & 255) * light / 255;
                            sum.min(255) << shift
                        })
                        .iter()
                        .sum();
                }
            }
        }
    }

    /// Copies the pixels to those of a window, each as often as it takes to fill it.
    pub fn scale_to(&self, pixels: &mut [u32], width: u32, height: u32) {
        for (y, row) in pixels.chunks_mut(width as usize).enumerate() {
            let from = (y as u32 * HEIGHT / height * WIDTH) as usize;
            for (x, pixel) in row.iter_mut().enumerate() {
                *pixel = self.0[from + (x as u32 * WIDTH / width) as usize];
            }
        }
    }

    /// Returns red, green and blue of each pixel.
    pub fn rgb(&self) -> Vec<u8> {
        let bytes = |pixel: &u32| [16, 8, 0].map(|shift| (pixel >> shift) as u8);
        self.0.iter().flat_map(bytes).collect()
    }
}

impl OriginDimensions for Canvas {
    fn size(&self) -> Size {
        Size::new(WIDTH, HEIGHT)
    }
}

/// For texts and bars.
impl DrawTarget for Canvas {
    type Color = Rgb888;
    type Error = Infallible;

    fn draw_iter<I: IntoIterator<Item = Pixel<Rgb888>>>(
        &mut self,
        pixels: I,
    ) -> Result<(), Infallible> {
        for Pixel(at, color) in pixels {
            if let (Ok(x @ 0..WIDTH), Ok(y @ 0..HEIGHT)) =
                (u32::try_from(at.x), u32::try_from(at.y))
            {
                let color = [color.r(), color.g(), color.b()].map(u32::from);
                self.0[(y * WIDTH + x) as usize] = color[0] << 16 | color[1] << 8 | color[2];
            }
        }
        Ok(())
    }
}
