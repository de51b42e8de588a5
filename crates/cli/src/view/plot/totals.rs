//! The panels of all processes together, against what the job had.

use super::axis::{self, Scale};
use super::canvas::{Canvas, Entry, Sample};
use super::layout::Frame;
use super::lines::Plane;
use super::palette::{ASIDE, HAD, INK};
use super::processes::Of;
use super::scene::{Paint, Shape, Stroke, Xy};
use crate::view::amount;
use query::plot::Plot;
use record::quantity::show_bytes;

/// What a job had is drawn where it is at most so many times what it used.
const FAR: f64 = 4.0;

/// One of the two panels.
pub(super) fn draw(canvas: &mut Canvas<'_>, frame: Frame, plot: &Plot, of: Of) {
    let (peak, had) = match of {
        Of::Memory => (
            plot.peaks.rss.max(plot.peaks.held).map(|peak| peak as f64),
            plot.memory_had.map(|had| had as f64),
        ),
        Of::Cores => (plot.peaks.cores, plot.cpus_had.map(|had| had as f64)),
    };
    let peak = peak.unwrap_or(0.0);
    // So much the axis has in any case.
    let least: f64 = match of {
        Of::Memory => 65_536.0,
        Of::Cores => 1.0,
    };
    let near = had.filter(|had| *had <= least.max(FAR * peak));
    let largest = near.unwrap_or(0.0).max(peak);
    let most = canvas.marks(&frame);
    let (to, marks, words) = match of {
        Of::Memory => {
            let to = axis::top(largest, least);
            let marks = axis::sizes(to, axis::size_step(to, most), "");
            (to, marks, ("Memory of all processes", ""))
        }
        Of::Cores => {
            let to = axis::top(largest, least);
            let aside = "cores, from one reading to the next";
            (
                to,
                axis::numbers(to, most),
                ("CPUs kept busy by all processes", aside),
            )
        }
    };
    let plane = Plane {
        time: canvas.time,
        value: Scale {
            from: 0.0,
            to,
            low: frame.bottom,
            high: frame.top,
        },
        column: 1.0,
    };
    canvas.panel(&frame, plane.value, &marks, words);
    let mut entries = match of {
        Of::Memory => memory(canvas, plot, &plane),
        Of::Cores => cores(canvas, plot, &plane),
    };
    if let Some(had) = had {
        entries.push(against(canvas, &frame, &plane, (of, had, near.is_some())));
    }
    canvas.axes(&frame);
    canvas.explain(&frame, &entries, 0.0);
}

fn memory(canvas: &mut Canvas<'_>, plot: &Plot, plane: &Plane) -> Vec<Entry> {
    let unit = canvas.layout.unit;
    let held = Stroke::of(ASIDE, 1.2 * unit);
    let rss = Stroke::of(INK, 2.0 * unit);
    let mut entries = Vec::new();
    let words = "without pages of files";
    let all = [
        (&plot.totals.held, held, words, plot.peaks.held),
        (&plot.totals.rss, rss, "resident sets", plot.peaks.rss),
    ];
    for (points, stroke, words, peak) in all {
        let Some(peak) = peak else {
            continue;
        };
        line(canvas, plane.of_points(points), stroke, words);
        let value = format!("≤ {}", show_bytes(u64::try_from(peak).unwrap_or(0)));
        entries.insert(0, entry(stroke, words, value));
    }
    entries
}

fn cores(canvas: &mut Canvas<'_>, plot: &Plot, plane: &Plane) -> Vec<Entry> {
    let stroke = Stroke::of(INK, 1.6 * canvas.layout.unit);
    let steps = &plot.totals.cores;
    let fill = Paint {
        color: INK,
        opacity: 0.08,
    };
    canvas.add(Shape::Area {
        lines: plane.below_steps(steps, plane.value.low),
        fill,
    });
    line(canvas, plane.of_steps(steps), stroke, "all processes");
    let peak = plot
        .peaks
        .cores
        .map(|peak| format!("≤ {}", amount::cores(peak)));
    vec![entry(stroke, "all processes", peak.unwrap_or_default())]
}

fn line(canvas: &mut Canvas<'_>, lines: Vec<Vec<Xy>>, stroke: Stroke, title: &str) {
    canvas.add(Shape::Lines {
        lines,
        stroke,
        title: Some(title.to_owned()),
    });
}

fn entry(stroke: Stroke, words: &str, value: String) -> Entry {
    Entry {
        sample: Sample::Line(stroke),
        words: words.to_owned(),
        value,
    }
}

/// What the job had, as a dashed line where that is near.
fn against(
    canvas: &mut Canvas<'_>,
    frame: &Frame,
    plane: &Plane,
    (of, had, is_near): (Of, f64, bool),
) -> Entry {
    let unit = canvas.layout.unit;
    let stroke = Stroke {
        dash: Some(6.0 * unit),
        ..Stroke::of(HAD, 1.4 * unit)
    };
    let words = match is_near {
        true => "what the job had",
        false => "it had (not drawn)",
    };
    if is_near {
        let y = plane.value.place(had);
        let across = vec![(frame.left, y), (frame.right, y)];
        line(canvas, vec![across], stroke, words);
    }
    let value = match of {
        Of::Memory => show_bytes(had as u64),
        Of::Cores => amount::cores(had),
    };
    entry(stroke, words, value)
}
