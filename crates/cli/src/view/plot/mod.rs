//! A job over time as a picture: memory and CPUs of all its processes and of each, what it read and
//! wrote and what it mostly did, over one axis of time.
//!
//! Pure: from what `query::plot` tells to shapes ([`scene`]), and from these to SVG and PNG, which
//! have the same places.

mod axis;
mod canvas;
mod density;
mod io;
mod layout;
mod letters;
mod lines;
mod palette;
mod png;
mod processes;
mod scene;
mod svg;
#[cfg(test)]
mod tests;
mod totals;
mod words;

use anyhow::Result;
use axis::Scale;
use canvas::{Canvas, crisp};
use layout::Layout;
use letters::Letters;
use palette::{ASIDE, AXIS, INK};
use processes::Of;
use query::plot::Plot;
use scene::{Anchor, Scene, Shape, Stroke};

/// Pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) width: u32,
    pub(crate) height: u32,
}

/// What a picture is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// Shapes and letters.
    Svg,
    /// Pixels.
    Png,
}

/// An axis of time is no shorter.
const LEAST_NS: f64 = 1e6;

/// A job's picture.
///
/// # Errors
/// There is no room for it.
pub(crate) fn picture(name: &str, plot: &Plot, size: Size, form: Form) -> Result<Vec<u8>> {
    let letters = Letters::new();
    let scene = scene(name, plot, size, &letters);
    match form {
        Form::Svg => svg::svg(&scene).map(String::into_bytes),
        Form::Png => png::png(&scene, &letters),
    }
}

fn scene(name: &str, plot: &Plot, size: Size, letters: &Letters) -> Scene {
    let layout = Layout::of(size.width, size.height);
    let band = layout.band;
    let from = plot.from as f64;
    let to = (plot.to as f64).max(from + LEAST_NS);
    let time = Scale {
        from,
        to,
        low: band.left,
        high: band.right,
    };
    let since = plot.began as f64;
    let most = (band.width() / (layout.font * 6.0)) as usize;
    let (mut times, unit) = axis::times(from - since, to - since, most.clamp(2, 12));
    for tick in &mut times {
        tick.value += since;
    }
    let title = words::title(name, plot);
    let mut canvas = Canvas {
        scene: Scene {
            width: size.width,
            height: size.height,
            title: format!("{title}, {}", words::place(plot)),
            shapes: Vec::new(),
        },
        letters,
        layout,
        time,
        times,
    };
    header(&mut canvas, &title, plot);
    let [memory, memories, cores, cores_each, io] = canvas.layout.panels;
    totals::draw(&mut canvas, memory, plot, Of::Memory);
    processes::draw(&mut canvas, memories, plot, Of::Memory);
    totals::draw(&mut canvas, cores, plot, Of::Cores);
    processes::draw(&mut canvas, cores_each, plot, Of::Cores);
    io::draw(&mut canvas, io, plot);
    io::band(&mut canvas, plot);
    footer(&mut canvas, unit);
    canvas.scene
}

fn header(canvas: &mut Canvas<'_>, title: &str, plot: &Plot) {
    let (unit, font) = (canvas.layout.unit, canvas.layout.font);
    let left = 16.0 * unit;
    let room = f64::from(canvas.scene.width) - 2.0 * left;
    let bold = (INK, Anchor::Start, true);
    canvas.sized((left, 28.0 * unit), title, 1.5 * font, bold, room);
    let look = (ASIDE, Anchor::Start, false);
    canvas.text((left, 48.0 * unit), &words::place(plot), look, room);
    canvas.text((left, 65.0 * unit), &words::provenance(plot), look, room);
}

/// The axis of time.
fn footer(canvas: &mut Canvas<'_>, unit_of_time: &str) {
    let (unit, font) = (canvas.layout.unit, canvas.layout.font);
    let band = canvas.layout.band;
    let mut ticks = Vec::new();
    for tick in canvas.times.clone() {
        let x = crisp(canvas.time.place(tick.value));
        ticks.push(vec![(x, band.bottom), (x, band.bottom + 4.0 * unit)]);
        let at = (x, band.bottom + 5.0 * unit + font);
        canvas.text(at, &tick.words, (ASIDE, Anchor::Middle, false), band.left);
    }
    canvas.add(Shape::Lines {
        lines: ticks,
        stroke: Stroke::of(AXIS, (unit * 0.9).max(0.8)),
        title: None,
    });
    let at = (
        f64::midpoint(band.left, band.right),
        band.bottom + 8.0 * unit + 2.2 * font,
    );
    let words = format!("time since the job began ({unit_of_time})");
    canvas.text(at, &words, (INK, Anchor::Middle, false), band.width());
}
