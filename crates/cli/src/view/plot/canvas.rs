//! What every panel has: its frame, its marks, its heading, and what its lines mean.

use super::axis::{Scale, Tick};
use super::layout::{Frame, Layout};
use super::letters::Letters;
use super::palette::{ASIDE, AXIS, GRID, INK};
use super::scene::{Anchor, Color, Paint, Scene, Shape, Stroke, Text, Xy};

/// A picture that is being made.
pub(super) struct Canvas<'a> {
    pub(super) scene: Scene,
    pub(super) letters: &'a Letters,
    pub(super) layout: Layout,
    pub(super) time: Scale,
    /// The marks of time, which go through all panels.
    pub(super) times: Vec<Tick>,
}

/// How what is explained looks.
#[derive(Debug, Clone, Copy)]
pub(super) enum Sample {
    Line(Stroke),
    Area(Paint),
}

/// A line of an explanation.
#[derive(Debug, Clone)]
pub(super) struct Entry {
    pub(super) sample: Sample,
    pub(super) words: String,
    /// Behind it, at the edge.
    pub(super) value: String,
}

impl Canvas<'_> {
    pub(super) fn add(&mut self, shape: Shape) {
        self.scene.shapes.push(shape);
    }

    /// A line of letters, no wider than its room; how wide it is.
    pub(super) fn text(
        &mut self,
        at: Xy,
        words: &str,
        look: (Color, Anchor, bool),
        room: f64,
    ) -> f64 {
        let (color, anchor, is_bold) = look;
        let size = self.layout.font;
        self.sized(at, words, size, (color, anchor, is_bold), room)
    }

    /// The same in another size.
    pub(super) fn sized(
        &mut self,
        at: Xy,
        words: &str,
        size: f64,
        (color, anchor, is_bold): (Color, Anchor, bool),
        room: f64,
    ) -> f64 {
        let text = self.letters.cut(words, size, is_bold, room);
        let width = self.letters.width(&text, size, is_bold);
        self.add(Shape::Text(Text {
            at,
            text,
            size,
            anchor,
            is_bold,
            color,
        }));
        width
    }

    /// How many marks have room above each other.
    pub(super) fn marks(&self, frame: &Frame) -> usize {
        ((frame.height() / (self.layout.font * 2.4)) as usize).clamp(2, 5)
    }

    /// The frame of a panel with the marks of its values, and what it shows.
    pub(super) fn panel(
        &mut self,
        frame: &Frame,
        value: Scale,
        marks: &[Tick],
        (heading, aside): (&str, &str),
    ) {
        let unit = self.layout.unit;
        let thin = (unit * 0.8).max(0.7);
        let mut grid = Vec::new();
        for tick in marks {
            let y = crisp(value.place(tick.value));
            grid.push(vec![(frame.left, y), (frame.right, y)]);
            let at = (frame.left - 7.0 * unit, y + 0.35 * self.layout.font);
            let look = (ASIDE, Anchor::End, false);
            self.text(at, &tick.words, look, frame.left - 8.0 * unit);
        }
        for tick in &self.times {
            let x = crisp(self.time.place(tick.value));
            grid.push(vec![(x, frame.top), (x, frame.bottom)]);
        }
        self.add(Shape::Lines {
            lines: grid,
            stroke: Stroke::of(GRID, thin),
            title: None,
        });
        let at = (frame.left, frame.top - 7.0 * unit);
        let room = frame.width();
        let width = self.text(at, heading, (INK, Anchor::Start, true), room);
        let behind = (at.0 + width + 8.0 * unit, at.1);
        let room = room - width - 8.0 * unit;
        if room > 60.0 * unit {
            self.text(behind, aside, (ASIDE, Anchor::Start, false), room);
        }
    }

    /// The axes of a panel, on top of what is in it.
    pub(super) fn axes(&mut self, frame: &Frame) {
        let (left, bottom) = (crisp(frame.left), crisp(frame.bottom));
        let corner = vec![(left, frame.top), (left, bottom), (frame.right, bottom)];
        let stroke = Stroke::of(AXIS, (self.layout.unit * 0.9).max(0.8));
        self.add(Shape::Lines {
            lines: vec![corner],
            stroke,
            title: None,
        });
    }

    /// How many lines of an explanation have room beside a panel.
    pub(super) fn rows(&self, frame: &Frame) -> usize {
        (frame.height() / self.row()) as usize
    }

    fn row(&self) -> f64 {
        self.layout.font * 1.4
    }

    /// What the lines of a panel mean, as far as there is room; `indent` pixels to the right.
    pub(super) fn explain(&mut self, frame: &Frame, entries: &[Entry], indent: f64) {
        let (unit, font) = (self.layout.unit, self.layout.font);
        let (left, right) = (self.layout.legend.0 + indent, self.layout.legend.1);
        let rows = self.rows(frame).max(1);
        let mut y = frame.top + 0.8 * font;
        for entry in entries.iter().take(rows) {
            let middle = y - 0.35 * font;
            let end = left + 16.0 * unit;
            match entry.sample {
                Sample::Line(stroke) => self.add(Shape::Lines {
                    lines: vec![vec![(left, middle), (end, middle)]],
                    stroke,
                    title: None,
                }),
                Sample::Area(fill) => self.add(Shape::Rect {
                    at: (left, middle - 0.35 * font),
                    size: (16.0 * unit, 0.7 * font),
                    fill,
                }),
            }
            let look = (ASIDE, Anchor::End, false);
            let value = self.letters.width(&entry.value, font, false);
            let room = right - end - 6.0 * unit;
            // What it is goes before how much it was.
            let is_room = room - value > 6.0 * font;
            let taken = if is_room && !entry.value.is_empty() {
                self.text((right, y), &entry.value, look, room) + 6.0 * unit
            } else {
                0.0
            };
            let look = (INK, Anchor::Start, false);
            self.text((end + 6.0 * unit, y), &entry.words, look, room - taken);
            y += self.row();
        }
    }

    /// In the middle of a panel, where there is nothing to draw.
    pub(super) fn instead(&mut self, frame: &Frame, words: &str) {
        let at = (
            f64::midpoint(frame.left, frame.right),
            f64::midpoint(frame.top, frame.bottom) + 0.35 * self.layout.font,
        );
        self.text(at, words, (ASIDE, Anchor::Middle, false), frame.width());
    }
}

/// In the middle of a pixel: a thin line is on one row then, not on two.
pub(super) fn crisp(at: f64) -> f64 {
    at.floor() + 0.5
}
