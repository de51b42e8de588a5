//! Where what is: one column of panels over one axis of time, with what they mean to the right.

use super::scene::Xy;

/// The size that all lengths are made for; others are larger or smaller in the same proportion.
const WIDTH: f64 = 1200.0;
const HEIGHT: f64 = 900.0;

/// Letters do not get smaller than 8 pixels, nor larger than is useful.
const UNIT_MIN: f64 = 8.0 / FONT;
const UNIT_MAX: f64 = 8.0;

/// The size of letters.
const FONT: f64 = 12.0;
/// Above the first panel.
const HEADER: f64 = 72.0;
/// Below the last.
const FOOTER: f64 = 44.0;
/// To the left, for the words of the marks.
const LEFT: f64 = 78.0;
/// Above each panel, for what it shows.
const HEADING: f64 = 24.0;
/// The band of phases, and the room above it.
const BAND: f64 = 14.0;
const BAND_ROOM: f64 = 7.0;
/// What is to the right, in parts of the width.
const LEGEND: f64 = 0.2;

/// Memory together and by process, CPUs together and by process, I/O: their heights in parts.
const PANELS: [f64; 5] = [1.0, 1.7, 1.0, 1.7, 1.35];

/// A rectangle of whole pixels.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

impl Frame {
    pub(super) fn width(&self) -> f64 {
        self.right - self.left
    }

    pub(super) fn height(&self) -> f64 {
        self.bottom - self.top
    }

    pub(super) fn corner(&self) -> Xy {
        (self.left, self.top)
    }

    pub(super) fn size(&self) -> Xy {
        (self.width(), self.height())
    }
}

/// Where what is.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Layout {
    /// All lengths are multiples of it.
    pub(super) unit: f64,
    /// The size of letters.
    pub(super) font: f64,
    /// From top to bottom.
    pub(super) panels: [Frame; 5],
    pub(super) band: Frame,
    /// What is to the right of the panels begins and ends here.
    pub(super) legend: (f64, f64),
}

impl Layout {
    pub(super) fn of(width: u32, height: u32) -> Self {
        let (width, height) = (f64::from(width), f64::from(height));
        let unit = (width / WIDTH)
            .min(height / HEIGHT)
            .clamp(UNIT_MIN, UNIT_MAX);
        let right = width - (width * LEGEND).max(110.0 * unit);
        let (left, right) = ((LEFT * unit).round(), right.round());
        let fixed = HEADER + FOOTER + BAND + BAND_ROOM + HEADING * PANELS.len() as f64;
        let rest = (height - fixed * unit).max(0.0) / PANELS.iter().sum::<f64>();
        let mut top = HEADER * unit;
        let panels = PANELS.map(|part| {
            let begin = top + HEADING * unit;
            top = begin + part * rest;
            Frame {
                left,
                right,
                top: begin.round(),
                bottom: top.round(),
            }
        });
        let begin = (top + BAND_ROOM * unit).round();
        Self {
            unit,
            font: FONT * unit,
            panels,
            band: Frame {
                left,
                right,
                top: begin,
                bottom: begin + (BAND * unit).round(),
            },
            legend: (right + 16.0 * unit, width - 10.0 * unit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_lies_on_anything_else() {
        for (width, height) in [
            (480, 360),
            (1200, 900),
            (800, 2000),
            (4096, 400),
            (8192, 8192),
        ] {
            let layout = Layout::of(width, height);
            let mut above = HEADER * layout.unit;
            for panel in layout.panels.iter().chain([&layout.band]) {
                assert!(panel.top > above && panel.bottom > panel.top, "{layout:?}");
                assert!(panel.width() > 200.0, "{layout:?}");
                above = panel.bottom;
            }
            assert!(above + 30.0 * layout.unit < f64::from(height), "{layout:?}");
            assert!(layout.legend.1 - layout.legend.0 > 60.0, "{layout:?}");
        }
    }
}
