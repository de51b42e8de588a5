//! Where there are too many lines to tell them apart: how many of them pass each pixel.

use super::palette::DENSITY;
use super::scene::{Color, Image, Xy};

/// Levels of colour; 0 is where nobody passes.
const LEVELS: usize = 255;

/// How many lines pass each pixel of a rectangle.
pub(super) struct Density {
    width: usize,
    height: usize,
    /// By column, from the top down: by how much there are more than in the pixel above. One more
    /// than is shown.
    changes: Vec<i32>,
}

impl Density {
    pub(super) fn new(width: usize, height: usize) -> Self {
        Self {
            width,
            height,
            changes: vec![0; width * (height + 1)],
        }
    }

    /// Counts a line once in each pixel; places are from the upper left corner of the rectangle.
    pub(super) fn add(&mut self, lines: &[Vec<Xy>]) {
        for line in lines {
            // The column that is being filled, and how far up and down the line was in it.
            let mut open: Option<(usize, f64, f64)> = None;
            let mut before: Option<Xy> = None;
            for at in line {
                let from = before.unwrap_or(*at);
                self.segment(from, *at, &mut open);
                before = Some(*at);
            }
            self.close(open);
        }
    }

    fn segment(&mut self, from: Xy, to: Xy, open: &mut Option<(usize, f64, f64)>) {
        let last = self.width.saturating_sub(1);
        let column = |x: f64| (x.max(0.0) as usize).min(last);
        let (first, end) = (column(from.0), column(to.0));
        let slope = (to.1 - from.1) / (to.0 - from.0).max(f64::MIN_POSITIVE);
        let mut y = from.1;
        for x in first..=end {
            let until = match x == end {
                true => to.1,
                false => from.1 + ((x + 1) as f64 - from.0) * slope,
            };
            let (high, low) = (y.min(until), y.max(until));
            *open = match open.take() {
                Some((at, above, below)) if at == x => Some((x, above.min(high), below.max(low))),
                other => {
                    self.close(other);
                    Some((x, high, low))
                }
            };
            y = until;
        }
    }

    fn close(&mut self, open: Option<(usize, f64, f64)>) {
        let Some((x, above, below)) = open else {
            return;
        };
        let last = self.height.saturating_sub(1);
        let row = |y: f64| (y.max(0.0) as usize).min(last);
        let column = x * (self.height + 1);
        if let Some(first) = self.changes.get_mut(column + row(above)) {
            *first += 1;
        }
        if let Some(behind) = self.changes.get_mut(column + row(below) + 1) {
            *behind -= 1;
        }
    }

    /// The pixels, coloured by the logarithm of the count, and the largest count.
    pub(super) fn image(&self) -> (Image, u32) {
        let mut counts = Vec::with_capacity(self.changes.len());
        for column in self.changes.chunks(self.height + 1) {
            let mut count = 0;
            for change in column.iter().take(self.height) {
                count += change;
                counts.push(u32::try_from(count).unwrap_or(0));
            }
        }
        let most = counts.iter().copied().max().unwrap_or(0);
        let mut pixels = vec![0; self.width * self.height];
        for (x, column) in counts.chunks(self.height.max(1)).enumerate() {
            for (y, count) in column.iter().enumerate() {
                if let Some(pixel) = pixels.get_mut(y * self.width + x) {
                    *pixel = level(*count, most);
                }
            }
        }
        let image = Image {
            width: self.width as u32,
            height: self.height as u32,
            pixels,
            colors: colors(),
        };
        (image, most)
    }
}

/// The level of a count where the largest is so large.
fn level(count: u32, most: u32) -> u8 {
    match count {
        0 => 0,
        _ => 1 + (part(f64::from(count), most) * (LEVELS - 1) as f64) as u8,
    }
}

/// Where a count is on the scale from 1 to the largest, in parts of it.
pub(super) fn part(count: f64, most: u32) -> f64 {
    let whole = f64::from(most.max(2)).ln();
    (count.max(1.0).ln() / whole).clamp(0.0, 1.0)
}

/// All levels from the bottom up, in one column.
pub(super) fn bar() -> Image {
    Image {
        width: 1,
        height: LEVELS as u32,
        pixels: (1..=u8::MAX).rev().collect(),
        colors: colors(),
    }
}

fn colors() -> Vec<Color> {
    let level = |level: usize| {
        let at = level as f64 / (LEVELS - 1) as f64 * (DENSITY.len() - 1) as f64;
        let below = (at as usize).min(DENSITY.len().saturating_sub(2));
        let pair = (DENSITY.get(below), DENSITY.get(below + 1));
        let (Some(low), Some(high)) = pair else {
            return Color(0, 0, 0);
        };
        let mix = |low: u8, high: u8| {
            let (low, high) = (f64::from(low), f64::from(high));
            (low + (high - low) * (at - below as f64)).round() as u8
        };
        Color(mix(low.0, high.0), mix(low.1, high.1), mix(low.2, high.2))
    };
    let shown = (0..LEVELS).map(level);
    std::iter::once(Color(255, 255, 255)).chain(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(density: &Density, x: usize, y: usize) -> i32 {
        let column = &density.changes[x * (density.height + 1)..];
        column[..=y].iter().sum()
    }

    #[test]
    fn a_line_counts_once_in_each_pixel() {
        let mut density = Density::new(4, 4);
        // There and back in one column, then down across all.
        let line = vec![(0.2, 3.5), (0.4, 0.5), (0.6, 3.5), (3.9, 0.5)];
        density.add(std::slice::from_ref(&line));
        let column = |x| [0, 1, 2, 3].map(|y| count(&density, x, y));
        assert_eq!(column(0), [1, 1, 1, 1]);
        assert_eq!(column(3), [1, 1, 0, 0]);
        density.add(&[line]);
        let (image, most) = density.image();
        assert_eq!((most, image.pixels[0], image.pixels[15]), (2, 255, 0));
    }

    #[test]
    fn ten_thousand_lines_are_all_there() {
        let mut density = Density::new(100, 50);
        for _ in 0..10_900 {
            density.add(&[vec![(0.0, 25.0), (100.0, 25.0)]]);
        }
        assert_eq!(count(&density, 99, 25), 10_900);
        assert_eq!(density.image().1, 10_900);
        assert_eq!(part(10_900.0, 10_900), 1.0);
        assert_eq!(colors().len(), 256);
    }
}
