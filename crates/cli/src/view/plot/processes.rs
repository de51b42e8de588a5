//! The panels with a line for each process, or with how many of them pass where.

use super::axis::{self, Scale};
use super::canvas::{Canvas, Entry, Sample};
use super::density::{self, Density};
use super::layout::Frame;
use super::lines::Plane;
use super::palette::{self, ASIDE, INK, OTHERS, PROGRAMS};
use super::scene::{Anchor, Paint, Shape, Stroke, Xy};
use crate::view::style;
use query::plot::{Line, Plot, Program};
use record::quantity::{show_bytes, show_time};

/// More lines than this are a density: a panel of the usual size has about as many pixels as these
/// have, and would hide one behind the other.
pub(super) const LINES_MAX: usize = 400;

/// Points of all lines of a panel, so that a picture of long jobs stays small.
const POINTS_MAX: f64 = 150_000.0;

/// What is drawn of each process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Of {
    Memory,
    Cores,
}

/// One of the two panels.
pub(super) fn draw(canvas: &mut Canvas<'_>, frame: Frame, plot: &Plot, of: Of) {
    let most = canvas.marks(&frame);
    let (to, marks, heading) = match of {
        Of::Memory => {
            let largest = plot.programs.iter().map(|program| program.rss_max).max();
            let to = axis::top(largest.unwrap_or(0) as f64, 65_536.0);
            let marks = axis::sizes(to, axis::size_step(to, most), "");
            (to, marks, "Memory of each process")
        }
        Of::Cores => {
            let largest = plot.peaks.cores_of_one.unwrap_or(0.0);
            let to = axis::top(largest, 1.0);
            (
                to,
                axis::numbers(to, most),
                "CPUs kept busy by each process",
            )
        }
    };
    let value = Scale {
        from: 0.0,
        to,
        low: frame.bottom,
        high: frame.top,
    };
    let count = plot.lines.len();
    let is_dense = count > LINES_MAX;
    let aside = match (of, is_dense) {
        (Of::Memory, true) => "resident set; the darker, the more processes",
        (Of::Memory, false) => "resident set",
        (Of::Cores, true) => "cores, from one reading to the next; the darker, the more processes",
        (Of::Cores, false) => "cores, from one reading to the next",
    };
    canvas.panel(&frame, value, &marks, (heading, aside));
    match is_dense {
        true => dense(canvas, frame, plot, (of, value)),
        false => lines(canvas, frame, plot, (of, value)),
    }
    canvas.axes(&frame);
}

fn path(plane: &Plane, line: &Line, of: Of) -> Vec<Vec<Xy>> {
    match of {
        Of::Memory => plane.of_points(&line.rss),
        Of::Cores => plane.of_steps(&line.cores),
    }
}

fn lines(canvas: &mut Canvas<'_>, frame: Frame, plot: &Plot, (of, value): (Of, Scale)) {
    let count = plot.lines.len().max(1) as f64;
    let plane = Plane {
        time: canvas.time,
        value,
        column: (count * frame.width() * 4.0 / POINTS_MAX).max(1.0),
    };
    let width = canvas.layout.unit * if count > 100.0 { 0.9 } else { 1.3 };
    // The largest are the topmost.
    let mut order: Vec<&Line> = plot.lines.iter().collect();
    order.sort_by_key(|line| std::cmp::Reverse(line.program));
    for line in order {
        let mut lines = path(&plane, line, of);
        if lines.is_empty() {
            continue;
        }
        let least = 2.0 * canvas.layout.unit;
        lines
            .iter_mut()
            .for_each(|line| show_lone(line, &frame, least));
        let stroke = Stroke {
            paint: Paint {
                color: palette::program(line.program),
                opacity: 0.85,
            },
            width,
            dash: None,
        };
        canvas.add(Shape::Lines {
            lines,
            stroke,
            title: Some(title(plot, line)),
        });
    }
    let rows = canvas.rows(&frame);
    let entries = entries(plot, of, rows, canvas.layout.unit * 2.0);
    canvas.explain(&frame, &entries, 0.0);
}

/// Makes a dash of what only one reading met, so that it can be seen.
fn show_lone(line: &mut Vec<Xy>, frame: &Frame, half: f64) {
    if let [(x, y)] = line[..] {
        let (left, right) = (frame.left + half, frame.right - half);
        let middle = x.clamp(left, right.max(left));
        *line = vec![(middle - half, y), (middle + half, y)];
    }
}

/// `train.py, pid 100 on n1`.
fn title(plot: &Plot, line: &Line) -> String {
    let program = plot.programs.get(line.program);
    let host = plot.hosts.get(line.host);
    format!(
        "{}, pid {} on {}",
        program.map_or("", |program| &program.name),
        line.pid,
        host.map_or("", String::as_str)
    )
}

/// The programs that have a colour, the one with the most first, and all others.
fn entries(plot: &Plot, of: Of, rows: usize, width: f64) -> Vec<Entry> {
    let colored = plot.programs.len().min(PROGRAMS.len());
    let (first, others) = plot.programs.split_at(colored);
    let mut ranked: Vec<(usize, &Program)> = first.iter().enumerate().collect();
    if of == Of::Cores {
        ranked.sort_by_key(|(_, program)| std::cmp::Reverse(program.cpu_time));
    }
    let room = rows.saturating_sub(usize::from(!others.is_empty())).max(1);
    let mut entries: Vec<Entry> = ranked
        .iter()
        .take(room)
        .map(|(rank, program)| Entry {
            sample: Sample::Line(Stroke::of(palette::program(*rank), width)),
            words: named(&style::printable(&program.name), program.processes),
            value: amount(program, of),
        })
        .collect();
    if !others.is_empty() {
        let processes = others.iter().map(|program| program.processes).sum();
        let words = match others.len() {
            1 => "another program".to_owned(),
            count => format!("{count} other programs"),
        };
        entries.push(Entry {
            sample: Sample::Line(Stroke::of(OTHERS, width)),
            words: named(&words, processes),
            value: String::new(),
        });
    }
    entries
}

fn named(name: &str, processes: u64) -> String {
    match processes {
        1 => name.to_owned(),
        _ => format!("{name} ×{processes}"),
    }
}

fn amount(program: &Program, of: Of) -> String {
    match of {
        Of::Memory => show_bytes(u64::try_from(program.rss_max).unwrap_or(0)),
        Of::Cores => show_time(u64::try_from(program.cpu_time).unwrap_or(0)),
    }
}

fn dense(canvas: &mut Canvas<'_>, frame: Frame, plot: &Plot, (of, value): (Of, Scale)) {
    // Places from the corner of the panel on.
    let time = Scale {
        low: 0.0,
        high: frame.width(),
        ..canvas.time
    };
    let value = Scale {
        low: frame.height(),
        high: 0.0,
        ..value
    };
    let plane = Plane {
        time,
        value,
        column: 1.0,
    };
    let mut density = Density::new(frame.width() as usize, frame.height() as usize);
    for line in &plot.lines {
        match of {
            Of::Memory => density.add(&plane.of_points(&line.rss)),
            // How a rate went from one to the next nobody knows.
            Of::Cores => density.add(&plane.of_lone_steps(&line.cores)),
        }
    }
    let (image, most) = density.image();
    canvas.add(Shape::Image {
        at: frame.corner(),
        size: frame.size(),
        image,
    });
    bar(canvas, frame, most);
    let (unit, font) = (canvas.layout.unit, canvas.layout.font);
    let indent = 70.0 * unit;
    let (left, right) = (canvas.layout.legend.0 + indent, canvas.layout.legend.1);
    let mut y = frame.top + 0.8 * font;
    let words = match of {
        Of::Memory => "largest",
        Of::Cores => "CPU time",
    };
    let look = (ASIDE, Anchor::Start, false);
    canvas.text((left, y), words, look, right - left);
    let mut ranked: Vec<&Program> = plot.programs.iter().collect();
    if of == Of::Cores {
        ranked.sort_by_key(|program| std::cmp::Reverse(program.cpu_time));
    }
    let rows = canvas.rows(&frame).saturating_sub(1) / 2;
    for program in ranked.iter().take(rows.min(PROGRAMS.len())) {
        let name = named(&style::printable(&program.name), program.processes);
        y += 1.4 * font;
        canvas.text((left, y), &name, (INK, Anchor::Start, false), right - left);
        y += 1.2 * font;
        canvas.text((left, y), &amount(program, of), look, right - left);
    }
}

/// What the colours of a density mean.
fn bar(canvas: &mut Canvas<'_>, frame: Frame, most: u32) {
    let (unit, font) = (canvas.layout.unit, canvas.layout.font);
    let left = canvas.layout.legend.0.round();
    let top = (frame.top + 1.5 * font).round();
    let height = frame.bottom - top;
    let look = (ASIDE, Anchor::Start, false);
    let room = 66.0 * unit;
    canvas.text((left, frame.top + 0.8 * font), "processes", look, room);
    canvas.add(Shape::Image {
        at: (left, top),
        size: ((12.0 * unit).round(), height),
        image: density::bar(),
    });
    let mut counts = vec![u64::from(most)];
    let mut power = 1;
    while power < u64::from(most) {
        counts.push(power);
        power *= 10;
    }
    let mut taken: Vec<f64> = Vec::new();
    for count in counts {
        let y = frame.bottom - density::part(count as f64, most) * height;
        // The largest is always there, and nothing lies on it.
        if taken.iter().any(|at| (at - y).abs() < 1.1 * font) {
            continue;
        }
        taken.push(y);
        let at = (left + 17.0 * unit, y + 0.35 * font);
        canvas.text(at, &count.to_string(), look, room);
    }
}
