//! The letters of a picture: how wide they are, and their outlines. They come with the program,
//! since a machine without a screen has none.

use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// What stands for a letter that nobody drew, in parts of the size.
const WIDTH: f64 = 0.6;

/// Two weights of one font.
pub(super) struct Letters {
    regular: Option<Face<'static>>,
    bold: Option<Face<'static>>,
}

/// Who draws an outline.
pub(super) trait Pen: OutlineBuilder {
    /// The next letter begins here, and so large is the unit of the outlines.
    fn begin(&mut self, x: f64, scale: f64);
}

impl Letters {
    pub(super) fn new() -> Self {
        Self {
            regular: Face::parse(notosans::REGULAR_TTF, 0).ok(),
            bold: Face::parse(notosans::BOLD_TTF, 0).ok(),
        }
    }

    fn face(&self, is_bold: bool) -> Option<&Face<'static>> {
        match is_bold {
            true => self.bold.as_ref(),
            false => self.regular.as_ref(),
        }
    }

    /// How wide a text is.
    pub(super) fn width(&self, text: &str, size: f64, is_bold: bool) -> f64 {
        let Some(face) = self.face(is_bold) else {
            return text.chars().count() as f64 * WIDTH * size;
        };
        let scale = size / f64::from(face.units_per_em());
        let letters = text.chars();
        letters
            .map(|letter| advance(face, glyph(face, letter)) * scale)
            .sum()
    }

    /// Draws a text whose first letter begins at 0.
    pub(super) fn draw(&self, text: &str, size: f64, is_bold: bool, pen: &mut impl Pen) {
        let Some(face) = self.face(is_bold) else {
            return;
        };
        let scale = size / f64::from(face.units_per_em());
        let mut x = 0.0;
        for letter in text.chars() {
            let glyph = glyph(face, letter);
            pen.begin(x, scale);
            // A blank has no outline.
            let _box = face.outline_glyph(glyph, pen);
            x += advance(face, glyph) * scale;
        }
    }

    /// As much of a text as has room; what is cut ends in `…`.
    pub(super) fn cut(&self, text: &str, size: f64, is_bold: bool, room: f64) -> String {
        if self.width(text, size, is_bold) <= room {
            return text.to_owned();
        }
        let mut room = room - self.width("…", size, is_bold);
        let mut kept = String::new();
        for letter in text.chars() {
            room -= self.width(letter.encode_utf8(&mut [0; 4]), size, is_bold);
            if room < 0.0 {
                break;
            }
            kept.push(letter);
        }
        format!("{}…", kept.trim_end())
    }
}

/// The outline of a letter; one that the font has not is an empty box.
fn glyph(face: &Face<'_>, letter: char) -> GlyphId {
    face.glyph_index(letter).unwrap_or(GlyphId(0))
}

fn advance(face: &Face<'_>, glyph: GlyphId) -> f64 {
    let em = f64::from(face.units_per_em());
    face.glyph_hor_advance(glyph).map_or(em * WIDTH, f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_to_its_room() {
        let letters = Letters::new();
        let text = "a long name of a program";
        let whole = letters.width(text, 12.0, false);
        assert!((100.0..160.0).contains(&whole), "{whole}");
        assert!(letters.width(text, 12.0, true) > whole);
        assert_eq!(letters.cut(text, 12.0, false, whole), text);
        let cut = letters.cut(text, 12.0, false, 60.0);
        assert!(cut.ends_with('…') && cut.len() > 5, "{cut}");
        assert!(letters.width(&cut, 12.0, false) <= 60.0);
    }
}
