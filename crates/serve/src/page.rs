//! The page itself, as it was built, and with the data of an archive in it.

mod embedded {
    include!(concat!(env!("OUT_DIR"), "/page.rs"));
}

/// Where the data goes.
const MARKER: &str = "<!-- plimsoll-data -->";

const BEGIN: &str = r#"<script type="application/json" id="plimsoll-data">"#;
const END: &str = "</script>";

/// The page without data: it asks for them by HTTP. None if there was no page when this was built.
pub fn built() -> Option<&'static str> {
    embedded::PAGE
}

/// The page with the answers to its questions, a JSON text. No text in it can end the element.
///
/// # Errors
/// If the page has no place for data, or several: the number of them.
pub fn with_data(page: &str, json: &str) -> Result<String, usize> {
    let mut parts = page.split(MARKER);
    let (Some(before), Some(after), None) = (parts.next(), parts.next(), parts.next()) else {
        return Err(page.matches(MARKER).count());
    };
    let mut out = String::with_capacity(page.len() + json.len() + json.len() / 16);
    out.push_str(before);
    out.push_str(BEGIN);
    // JSON has these letters in strings alone.
    for letter in json.chars() {
        match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                out.push_str(&format!("\\u{:04x}", u32::from(letter)));
            }
            letter => out.push(letter),
        }
    }
    out.push_str(END);
    out.push_str(after);
    Ok(out)
}

#[cfg(test)]
mod tests {
    #![allow(
        clippy::unwrap_used,
        reason = "a test that meets what it did not expect fails by panicking"
    )]
    use super::*;

    #[test]
    fn no_text_ends_the_element_and_all_come_back() {
        let texts = [
            "</script><!--",
            "a & b",
            "\u{2028}\u{2029}",
            "\"\\",
            "\u{0}\u{1f}é",
        ];
        let json = serde_json::to_string(&texts).unwrap();
        let page = with_data("<html><!-- plimsoll-data --></html>", &json).unwrap();
        let inner = page
            .strip_prefix("<html>")
            .unwrap()
            .strip_prefix(BEGIN)
            .unwrap();
        let inner = inner
            .strip_suffix("</html>")
            .unwrap()
            .strip_suffix(END)
            .unwrap();
        assert!(
            !inner.contains(['<', '>', '&', '\u{2028}', '\u{2029}']),
            "{inner}"
        );
        let back: Vec<String> = serde_json::from_str(inner).unwrap();
        assert_eq!(back, texts);
    }

    #[test]
    fn a_page_has_one_place_for_data() {
        assert_eq!(with_data("<html></html>", "{}"), Err(0));
        assert_eq!(with_data(&MARKER.repeat(2), "{}"), Err(2));
        assert_eq!(with_data(MARKER, "1").unwrap(), format!("{BEGIN}1{END}"));
    }
}
