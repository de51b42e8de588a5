//! A picture as PNG, letters drawn, and an image of pixels as one.

use super::letters::{Letters, Pen};
use super::scene::{Anchor, Color, Image, Paint, Scene, Shape, Stroke, Text, Xy};
use anyhow::{Context, Result};
use png::{BitDepth, ColorType, Compression, Encoder};
use tiny_skia::{
    FillRule, LineJoin, Paint as SkiaPaint, Path, PathBuilder, Pixmap, PremultipliedColorU8, Rect,
    StrokeDash, Transform,
};
use ttf_parser::OutlineBuilder;

/// The bytes of a picture.
pub(crate) fn png(scene: &Scene, letters: &Letters) -> Result<Vec<u8>> {
    let mut pixmap = Pixmap::new(scene.width, scene.height).context("no room for the picture")?;
    pixmap.fill(tiny_skia::Color::WHITE);
    for shape in &scene.shapes {
        match shape {
            Shape::Rect { at, size, fill } => {
                let (x, y) = (at.0 as f32, at.1 as f32);
                if let Some(rect) = Rect::from_xywh(x, y, size.0 as f32, size.1 as f32) {
                    pixmap.fill_rect(rect, &paint(*fill), Transform::identity(), None);
                }
            }
            Shape::Lines { lines, stroke, .. } => draw_lines(&mut pixmap, lines, *stroke),
            Shape::Area { lines, fill } => {
                if let Some(path) = path(lines, true) {
                    fill_path(&mut pixmap, &path, *fill);
                }
            }
            Shape::Text(text) => draw_text(&mut pixmap, text, letters),
            Shape::Image { at, size, image } => draw_image(&mut pixmap, (*at, *size), image),
        }
    }
    let opaque = pixmap.pixels().iter();
    let rgb: Vec<u8> = opaque
        .flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue()])
        .collect();
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out, scene.width, scene.height);
    encoder.set_color(ColorType::Rgb);
    encoder.set_depth(BitDepth::Eight);
    encoder.set_compression(Compression::Fast);
    encoder.add_text_chunk("Title".to_owned(), latin(&scene.title))?;
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&rgb)?;
    writer.finish()?;
    Ok(out)
}

/// The bytes of an image of indexed pixels.
pub(super) fn of_image(image: &Image) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    let mut encoder = Encoder::new(&mut out, image.width, image.height);
    encoder.set_color(ColorType::Indexed);
    encoder.set_depth(BitDepth::Eight);
    let colors = image.colors.iter();
    let colors: Vec<u8> = colors.flat_map(|one| [one.0, one.1, one.2]).collect();
    encoder.set_palette(colors);
    encoder.set_trns(vec![0]);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&image.pixels)?;
    writer.finish()?;
    Ok(out)
}

/// What a text of a PNG file may have.
fn latin(text: &str) -> String {
    let letters = text.chars();
    letters
        .map(|letter| {
            if letter.is_ascii_graphic() {
                letter
            } else {
                ' '
            }
        })
        .collect()
}

fn paint(of: Paint) -> SkiaPaint<'static> {
    let mut paint = SkiaPaint::default();
    let alpha = (of.opacity.clamp(0.0, 1.0) * 255.0).round() as u8;
    paint.set_color_rgba8(of.color.0, of.color.1, of.color.2, alpha);
    paint.anti_alias = true;
    paint
}

fn path(lines: &[Vec<Xy>], is_closed: bool) -> Option<Path> {
    let mut builder = PathBuilder::new();
    for line in lines {
        let mut points = line.iter().map(|at| (at.0 as f32, at.1 as f32));
        let Some((x, y)) = points.next() else {
            continue;
        };
        builder.move_to(x, y);
        points.for_each(|(x, y)| builder.line_to(x, y));
        if is_closed {
            builder.close();
        }
    }
    builder.finish()
}

fn fill_path(pixmap: &mut Pixmap, path: &Path, fill: Paint) {
    let identity = Transform::identity();
    pixmap.fill_path(path, &paint(fill), FillRule::Winding, identity, None);
}

fn draw_lines(pixmap: &mut Pixmap, lines: &[Vec<Xy>], stroke: Stroke) {
    let Some(path) = path(lines, false) else {
        return;
    };
    let dash = stroke.dash.map(|length| length as f32);
    let style = tiny_skia::Stroke {
        width: stroke.width as f32,
        line_join: LineJoin::Round,
        dash: dash.and_then(|length| StrokeDash::new(vec![length, length], 0.0)),
        ..tiny_skia::Stroke::default()
    };
    let identity = Transform::identity();
    pixmap.stroke_path(&path, &paint(stroke.paint), &style, identity, None);
}

fn draw_text(pixmap: &mut Pixmap, text: &Text, letters: &Letters) {
    let width = || letters.width(&text.text, text.size, text.is_bold);
    let left = match text.anchor {
        Anchor::Start => text.at.0,
        Anchor::Middle => text.at.0 - width() / 2.0,
        Anchor::End => text.at.0 - width(),
    };
    let mut pen = Outline {
        builder: PathBuilder::new(),
        at: (left as f32, text.at.1 as f32),
        x: 0.0,
        scale: 1.0,
    };
    letters.draw(&text.text, text.size, text.is_bold, &mut pen);
    if let Some(path) = pen.builder.finish() {
        fill_path(pixmap, &path, text.color.into());
    }
}

/// Outlines of letters, which grow upwards.
struct Outline {
    builder: PathBuilder,
    at: (f32, f32),
    x: f32,
    scale: f32,
}

impl Outline {
    fn place(&self, x: f32, y: f32) -> (f32, f32) {
        (
            self.at.0 + self.x + x * self.scale,
            self.at.1 - y * self.scale,
        )
    }
}

impl Pen for Outline {
    fn begin(&mut self, x: f64, scale: f64) {
        (self.x, self.scale) = (x as f32, scale as f32);
    }
}

impl OutlineBuilder for Outline {
    fn move_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.builder.move_to(x, y);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let (x, y) = self.place(x, y);
        self.builder.line_to(x, y);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let ((x1, y1), (x, y)) = (self.place(x1, y1), self.place(x, y));
        self.builder.quad_to(x1, y1, x, y);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let ((x1, y1), (x2, y2)) = (self.place(x1, y1), self.place(x2, y2));
        let (x, y) = self.place(x, y);
        self.builder.cubic_to(x1, y1, x2, y2, x, y);
    }

    fn close(&mut self) {
        self.builder.close();
    }
}

/// Each pixel where it is in the picture, without mixing neighbours.
fn draw_image(pixmap: &mut Pixmap, (at, size): (Xy, Xy), image: &Image) {
    let (left, top) = (at.0.round().max(0.0) as u32, at.1.round().max(0.0) as u32);
    let (width, height) = (size.0.round() as u32, size.1.round() as u32);
    let columns = pixmap.width();
    let bottom = (top + height).min(pixmap.height());
    let right = (left + width).min(columns);
    let pixels = pixmap.pixels_mut();
    for y in top..bottom {
        let from_y = u64::from(y - top) * u64::from(image.height) / u64::from(height.max(1));
        for x in left..right {
            let from_x = u64::from(x - left) * u64::from(image.width) / u64::from(width.max(1));
            let place = from_y * u64::from(image.width) + from_x;
            let index = usize::try_from(place).ok();
            let index = index.and_then(|place| image.pixels.get(place));
            let Some(Color(red, green, blue)) = index
                .filter(|index| **index > 0)
                .and_then(|index| image.colors.get(usize::from(*index)))
            else {
                continue;
            };
            let to = u64::from(y) * u64::from(columns) + u64::from(x);
            let to = usize::try_from(to).ok().and_then(|to| pixels.get_mut(to));
            let color = PremultipliedColorU8::from_rgba(*red, *green, *blue, u8::MAX);
            if let (Some(to), Some(color)) = (to, color) {
                *to = color;
            }
        }
    }
}
