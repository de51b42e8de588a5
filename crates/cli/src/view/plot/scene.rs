//! A picture as shapes with their places, in pixels from the upper left corner: the same for every
//! format.

/// A place: to the right, and down.
pub(super) type Xy = (f64, f64);

/// A colour: red, green and blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Color(pub(super) u8, pub(super) u8, pub(super) u8);

/// A colour that lets something through.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Paint {
    pub(super) color: Color,
    /// 1: nothing.
    pub(super) opacity: f64,
}

impl From<Color> for Paint {
    fn from(color: Color) -> Self {
        Self {
            color,
            opacity: 1.0,
        }
    }
}

/// How a line looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Stroke {
    pub(super) paint: Paint,
    pub(super) width: f64,
    /// The length of its dashes, if it has any.
    pub(super) dash: Option<f64>,
}

impl Stroke {
    pub(super) fn of(color: Color, width: f64) -> Self {
        Self {
            paint: color.into(),
            width,
            dash: None,
        }
    }
}

/// Which part of a text is at its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// A line of letters; its place is on the line that they stand on.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Text {
    pub(super) at: Xy,
    pub(super) text: String,
    pub(super) size: f64,
    pub(super) anchor: Anchor,
    pub(super) is_bold: bool,
    pub(super) color: Color,
}

/// A picture of pixels, each an index into some colours; the first of them lets all through.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Image {
    pub(super) width: u32,
    pub(super) height: u32,
    pub(super) pixels: Vec<u8>,
    pub(super) colors: Vec<Color>,
}

/// One shape.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Shape {
    /// A rectangle.
    Rect { at: Xy, size: Xy, fill: Paint },
    /// Lines of one look, and what they are.
    Lines {
        lines: Vec<Vec<Xy>>,
        stroke: Stroke,
        title: Option<String>,
    },
    /// What is inside of some lines.
    Area { lines: Vec<Vec<Xy>>, fill: Paint },
    /// Letters.
    Text(Text),
    /// Pixels, as large as is said here.
    Image { at: Xy, size: Xy, image: Image },
}

/// The whole picture, on white.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Scene {
    pub(super) width: u32,
    pub(super) height: u32,
    /// What it is, in a line.
    pub(super) title: String,
    /// From the lowest to the topmost.
    pub(super) shapes: Vec<Shape>,
}
