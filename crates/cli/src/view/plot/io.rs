//! The panel of what was read and written, and below it the band of what the job mostly did.

use super::axis::{self, Scale, Tick};
use super::canvas::{Canvas, Entry, Sample};
use super::layout::Frame;
use super::lines::Plane;
use super::palette::{self, ASIDE, DISK_READ, DISK_WRITTEN, INK, READ, WRITTEN};
use super::scene::{Anchor, Color, Paint, Shape, Stroke};
use query::plot::{Doing, Phase, Plot, Step};
use record::quantity::show_bytes;

/// The smaller half has at least this part of the room of the larger one.
const HALF_MIN: f64 = 0.15;

/// What is shown: steps, whether they go down, their colour, their words and the most of them.
type Stream<'a> = (&'a [Step], bool, Color, &'a str, Option<f64>);

/// The panel.
pub(super) fn draw(canvas: &mut Canvas<'_>, frame: Frame, plot: &Plot) {
    let (plane, marks) = plane(canvas, &frame, plot);
    let aside = "read above the line, written below";
    canvas.panel(&frame, plane.value, &marks, ("I/O of all processes", aside));
    let streams = streams(plot);
    if streams.iter().all(|(steps, ..)| steps.is_empty()) {
        canvas.instead(&frame, "not recorded: the agent may not read it");
    }
    let entries = streams.iter().enumerate();
    let entries = entries.filter_map(|(place, stream)| one(canvas, &plane, place < 2, stream));
    let entries: Vec<_> = entries.collect();
    let zero = plane.value.place(0.0);
    canvas.add(Shape::Lines {
        lines: vec![vec![(frame.left, zero), (frame.right, zero)]],
        stroke: Stroke::of(palette::AXIS, canvas.layout.unit * 0.9),
        title: None,
    });
    canvas.axes(&frame);
    canvas.explain(&frame, &entries, 0.0);
}

/// The four, those by calls first.
fn streams(plot: &Plot) -> [Stream<'_>; 4] {
    let (totals, peaks) = (&plot.totals, &plot.peaks);
    let (read, written) = ("read by calls", "written by calls");
    let (fetched, sent) = ("from storage", "to storage");
    let (from_disk, to_disk) = (&totals.disk_read, &totals.disk_written);
    [
        (&totals.read, false, READ, read, peaks.read),
        (&totals.written, true, WRITTEN, written, peaks.written),
        (from_disk, false, DISK_READ, fetched, peaks.disk_read),
        (to_disk, true, DISK_WRITTEN, sent, peaks.disk_written),
    ]
}

/// Where a rate is, one of what was written below zero, and the marks of both halves.
fn plane(canvas: &Canvas<'_>, frame: &Frame, plot: &Plot) -> (Plane, Vec<Tick>) {
    let most = |goes_down: bool| {
        let streams = streams(plot).into_iter();
        let peaks = streams.filter(|(_, down, ..)| *down == goes_down);
        let peaks = peaks.filter_map(|(.., peak)| peak);
        peaks.fold(0.0, f64::max)
    };
    let (up, down) = (most(false), most(true));
    let least = (up.max(down) * HALF_MIN).max(512.0);
    let (up, down) = (axis::top(up, least), axis::top(down, least));
    let mut step = axis::size_step(up + down, canvas.marks(frame));
    // Both halves have a mark, if there is room for it.
    let between = |step: f64| step / (up + down) * frame.height();
    while step > up.min(down) && between(step / 2.0) > 1.3 * canvas.layout.font {
        step /= 2.0;
    }
    let mut marks = axis::sizes(up, step, "/s");
    let below = axis::sizes(down, step, "/s").into_iter().skip(1);
    marks.extend(below.map(|tick| Tick {
        value: -tick.value,
        ..tick
    }));
    let plane = Plane {
        time: canvas.time,
        value: Scale {
            from: -down,
            to: up,
            low: frame.bottom,
            high: frame.top,
        },
        column: 1.0,
    };
    (plane, marks)
}

/// One of the four: filled if it is by calls, else a line.
fn one(
    canvas: &mut Canvas<'_>,
    plane: &Plane,
    is_filled: bool,
    (steps, goes_down, color, words, peak): &Stream<'_>,
) -> Option<Entry> {
    let peak = (*peak)?;
    let turned: Vec<Step>;
    let steps = match goes_down {
        true => {
            let turn = |step: &Step| Step {
                rate: -step.rate,
                ..*step
            };
            turned = steps.iter().map(turn).collect();
            &turned
        }
        false => *steps,
    };
    let stroke = Stroke::of(*color, canvas.layout.unit * 1.2);
    let fill = Paint {
        color: *color,
        opacity: 0.55,
    };
    if is_filled {
        canvas.add(Shape::Area {
            lines: plane.below_steps(steps, plane.value.place(0.0)),
            fill,
        });
    } else {
        canvas.add(Shape::Lines {
            lines: plane.of_steps(steps),
            stroke,
            title: Some((*words).to_owned()),
        });
    }
    Some(Entry {
        sample: match is_filled {
            true => Sample::Area(fill),
            false => Sample::Line(stroke),
        },
        words: (*words).to_owned(),
        value: format!("≤ {}/s", show_bytes(peak as u64)),
    })
}

const DOINGS: [(Doing, &str); 4] = [
    (Doing::Reading, "reading"),
    (Doing::Writing, "writing"),
    (Doing::Computing, "computing"),
    (Doing::Waiting, "waiting"),
];

/// The band.
pub(super) fn band(canvas: &mut Canvas<'_>, plot: &Plot) {
    let frame = canvas.layout.band;
    let (unit, font) = (canvas.layout.unit, canvas.layout.font);
    for (from, to, doing) in columns(&plot.phases, canvas.time, &frame) {
        canvas.add(Shape::Rect {
            at: (frame.left + from as f64, frame.top),
            size: ((to - from) as f64, frame.height()),
            fill: palette::doing(doing).into(),
        });
    }
    let base = f64::midpoint(frame.top, frame.bottom) + 0.35 * font;
    let at = (frame.left - 7.0 * unit, base);
    canvas.text(at, "mostly", (ASIDE, Anchor::End, false), frame.left);
    let (left, right) = canvas.layout.legend;
    let half = (right - left) / 2.0;
    for (place, (doing, words)) in DOINGS.iter().enumerate() {
        let (column, row) = ((place % 2) as f64, (place / 2) as f64);
        let (x, y) = (left + column * half, base + row * 1.4 * font);
        canvas.add(Shape::Rect {
            at: (x, y - 0.7 * font),
            size: (10.0 * unit, 0.7 * font),
            fill: palette::doing(*doing).into(),
        });
        let room = half - 16.0 * unit;
        canvas.text(
            (x + 15.0 * unit, y),
            words,
            (INK, Anchor::Start, false),
            room,
        );
    }
}

/// What was done longest in each column of pixels, neighbours that are alike together.
fn columns(phases: &[Phase], time: Scale, frame: &Frame) -> Vec<(usize, usize, Doing)> {
    let width = frame.width().max(0.0) as usize;
    let mut spent = vec![[0.0; DOINGS.len()]; width];
    let place = |at: i64| (time.place(at as f64) - frame.left).clamp(0.0, width as f64);
    for phase in phases {
        let (from, to) = (place(phase.from), place(phase.to));
        let kind = DOINGS.iter().position(|(doing, _)| *doing == phase.doing);
        for x in (from as usize)..(to.ceil() as usize) {
            let part = to.min((x + 1) as f64) - from.max(x as f64);
            let sum = spent.get_mut(x).zip(kind);
            if let Some(sum) = sum.and_then(|(sums, kind)| sums.get_mut(kind)) {
                *sum += part;
            }
        }
    }
    let mut runs: Vec<(usize, usize, Doing)> = Vec::new();
    for (x, sums) in spent.iter().enumerate() {
        let all = sums.iter().zip(DOINGS);
        let most = all.max_by(|one, other| one.0.total_cmp(other.0));
        let Some((_, (doing, _))) = most.filter(|(sum, _)| **sum > 0.0) else {
            continue;
        };
        match runs.last_mut() {
            Some((_, to, last)) if *last == doing && *to == x => *to = x + 1,
            _ => runs.push((x, x + 1, doing)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_shows_what_was_done_longest_in_it() {
        let time = Scale {
            from: 0.0,
            to: 100.0,
            low: 50.0,
            high: 60.0,
        };
        let frame = Frame {
            left: 50.0,
            right: 60.0,
            top: 0.0,
            bottom: 5.0,
        };
        let phase = |from, to, doing| Phase { from, to, doing };
        let phases = [
            phase(0, 24, Doing::Reading),
            phase(24, 56, Doing::Computing),
            phase(70, 100, Doing::Writing),
        ];
        assert_eq!(
            columns(&phases, time, &frame),
            [
                (0, 2, Doing::Reading),
                (2, 6, Doing::Computing),
                (7, 10, Doing::Writing)
            ]
        );
    }
}
