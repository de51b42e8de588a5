//! A picture as SVG: letters stay letters, what is dense is an image in it.

use super::png;
use super::scene::{Anchor, Color, Paint, Scene, Shape, Stroke, Text, Xy};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use std::fmt::Write;

/// Fonts that are about as wide, the own one first.
const FONTS: &str = "Noto Sans, DejaVu Sans, Helvetica, Arial, sans-serif";

/// The text of a picture.
pub(crate) fn svg(scene: &Scene) -> anyhow::Result<String> {
    let (width, height) = (scene.width, scene.height);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"{FONTS}\" fill=\"none\" \
         stroke-linejoin=\"round\">\n<title>{}</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n",
        escaped(&scene.title)
    );
    for shape in &scene.shapes {
        out.push_str(&self::shape(shape)?);
        out.push('\n');
    }
    out.push_str("</svg>\n");
    Ok(out)
}

fn shape(shape: &Shape) -> anyhow::Result<String> {
    Ok(match shape {
        Shape::Rect { at, size, fill } => format!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}/>",
            number(at.0),
            number(at.1),
            number(size.0),
            number(size.1),
            filled(*fill)
        ),
        Shape::Lines {
            lines,
            stroke,
            title,
        } => {
            let title = title.as_ref().map_or(String::new(), |title| {
                format!("<title>{}</title>", escaped(title))
            });
            format!(
                "<path d=\"{}\"{}>{title}</path>",
                path(lines, false),
                stroked(*stroke)
            )
        }
        Shape::Area { lines, fill } => {
            format!("<path d=\"{}\"{}/>", path(lines, true), filled(*fill))
        }
        Shape::Text(text) => self::text(text),
        Shape::Image { at, size, image } => format!(
            "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" \
             style=\"image-rendering:pixelated\" href=\"data:image/png;base64,{}\"/>",
            number(at.0),
            number(at.1),
            number(size.0),
            number(size.1),
            STANDARD.encode(png::of_image(image)?)
        ),
    })
}

fn text(text: &Text) -> String {
    let anchor = match text.anchor {
        Anchor::Start => "",
        Anchor::Middle => " text-anchor=\"middle\"",
        Anchor::End => " text-anchor=\"end\"",
    };
    let weight = if text.is_bold {
        " font-weight=\"bold\""
    } else {
        ""
    };
    format!(
        "<text x=\"{}\" y=\"{}\" font-size=\"{}\"{anchor}{weight} fill=\"{}\">{}</text>",
        number(text.at.0),
        number(text.at.1),
        number(text.size),
        hex(text.color),
        escaped(&text.text)
    )
}

fn stroked(stroke: Stroke) -> String {
    let mut out = format!(
        " stroke=\"{}\" stroke-width=\"{}\"",
        hex(stroke.paint.color),
        number(stroke.width)
    );
    if stroke.paint.opacity < 1.0 {
        // Writing to a text cannot fail.
        let _ = write!(out, " stroke-opacity=\"{}\"", stroke.paint.opacity);
    }
    if let Some(dash) = stroke.dash {
        let _ = write!(out, " stroke-dasharray=\"{}\"", number(dash));
    }
    out
}

fn filled(paint: Paint) -> String {
    let color = hex(paint.color);
    match paint.opacity < 1.0 {
        true => format!(" fill=\"{color}\" fill-opacity=\"{}\"", paint.opacity),
        false => format!(" fill=\"{color}\""),
    }
}

fn hex(color: Color) -> String {
    format!("#{:02x}{:02x}{:02x}", color.0, color.1, color.2)
}

/// Lines from point to point, in tenths of a pixel, each relative to the one before.
fn path(lines: &[Vec<Xy>], is_closed: bool) -> String {
    let mut out = String::new();
    for line in lines {
        let tenths = |at: &Xy| ((at.0 * 10.0).round() as i64, (at.1 * 10.0).round() as i64);
        let mut last: Option<(i64, i64)> = None;
        for (x, y) in line.iter().map(tenths) {
            let step = last.map(|(from_x, from_y)| (x - from_x, y - from_y));
            match step {
                None => push(&mut out, 'M', &[x, y]),
                Some((0, 0)) => {}
                Some((by, 0)) => push(&mut out, 'h', &[by]),
                Some((0, by)) => push(&mut out, 'v', &[by]),
                Some((by, down)) => push(&mut out, 'l', &[by, down]),
            }
            last = Some((x, y));
        }
        if is_closed {
            out.push('z');
        }
    }
    out
}

fn push(out: &mut String, command: char, tenths: &[i64]) {
    out.push(command);
    for (place, value) in tenths.iter().enumerate() {
        if place > 0 && *value >= 0 {
            out.push(' ');
        }
        if *value < 0 {
            out.push('-');
        }
        let (whole, part) = (value.abs() / 10, value.abs() % 10);
        let _ = match (whole, part) {
            (_, 0) => write!(out, "{whole}"),
            (0, _) => write!(out, ".{part}"),
            _ => write!(out, "{whole}.{part}"),
        };
    }
}

/// With at most one digit behind the point.
fn number(value: f64) -> String {
    let mut out = String::new();
    let tenths = (value * 10.0).round() as i64;
    if tenths < 0 {
        out.push('-');
    }
    let (whole, part) = (tenths.abs() / 10, tenths.abs() % 10);
    let _ = match part {
        0 => write!(out, "{whole}"),
        _ => write!(out, "{whole}.{part}"),
    };
    out
}

/// As XML has it; letters that it must not have are left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\t' | '\n' | '\r' => out.push(' '),
            '\u{fffe}' | '\u{ffff}' => {}
            _ if letter.is_control() => {}
            _ => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_short() {
        let line = vec![(10.0, 20.04), (11.0, 20.0), (11.0, 19.5), (11.02, 19.5)];
        let more = vec![(-0.5, 3.0), (4.25, -3.0)];
        assert_eq!(
            path(&[line.clone(), more], false),
            "M10 20h1v-.5M-.5 3l4.8-6"
        );
        assert!(path(&[line], true).ends_with("v-.5z"));
    }

    #[test]
    fn what_somebody_chose_is_no_markup() {
        assert_eq!(
            escaped("a<b>&\"c\u{1b}\u{0}\nd"),
            "a&lt;b&gt;&amp;&quot;c d"
        );
    }
}
