//! The few words that engines spell differently. A report is written once, with these words in
//! double braces, and becomes text for each engine.

/// An engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// What `plimsoll query` uses.
    DataFusion,
    /// DuckDB.
    DuckDb,
    /// Apache Spark.
    Spark,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::DataFusion, Self::DuckDb, Self::Spark];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::DataFusion => "datafusion",
            Self::DuckDb => "duckdb",
            Self::Spark => "spark",
        }
    }

    /// A text as a literal.
    pub(crate) fn text(self, text: &str) -> String {
        match self {
            Self::Spark => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
            _ => format!("'{}'", text.replace('\'', "''")),
        }
    }

    /// A whole report: words in double braces become the engine's.
    pub(crate) fn spell(self, template: &str) -> String {
        let mut out = String::with_capacity(template.len() * 2);
        let mut rest = template;
        while let Some((before, behind)) = rest.split_once("{{") {
            out.push_str(before);
            let (word, behind) = behind.split_once("}}").unwrap_or((behind, ""));
            out.push_str(&self.word(word.trim()));
            rest = behind;
        }
        out.push_str(rest);
        out
    }

    fn word(self, word: &str) -> String {
        let (name, rest) = word.split_once(' ').unwrap_or((word, ""));
        let rest = rest.trim();
        match (name, self) {
            // A name that is a word of the language.
            ("name", Self::Spark) => format!("`{rest}`"),
            ("name", _) => format!("\"{rest}\""),
            // The text of a pattern or another literal.
            ("text", _) => self.text(rest),
            // The same, its bytes as hexadecimal digits: whatever is in it.
            ("bytes", _) => self.text(&from_hex(rest)),
            // Text, as what a value becomes.
            ("string", Self::Spark) => "STRING".to_owned(),
            ("string", _) => "VARCHAR".to_owned(),
            // Whether a text has a pattern in it: {{has}}(text, pattern).
            ("has", Self::DuckDb) => "regexp_matches".to_owned(),
            ("has", _) => "regexp_like".to_owned(),
            // The group of a pattern, in what takes its place.
            ("group", Self::Spark) => format!("${rest}"),
            ("group", _) => format!("\\{rest}"),
            // The items of a list with a separator between them: {{join}}(list, text).
            ("join", Self::Spark) => "array_join".to_owned(),
            ("join", _) => "array_to_string".to_owned(),
            // The microseconds since 1970 of an instant.
            ("micros", Self::DataFusion) => format!("arrow_cast({rest}, 'Int64')"),
            ("micros", Self::DuckDb) => format!("epoch_us({rest})"),
            ("micros", Self::Spark) => format!("unix_micros({rest})"),
            // The instant of microseconds since 1970.
            ("instant", Self::DataFusion) => {
                format!("arrow_cast(arrow_cast({rest}, 'Timestamp(µs)'), 'Timestamp(µs, \"UTC\")')")
            }
            ("instant", Self::DuckDb) => format!("make_timestamptz({rest})"),
            ("instant", Self::Spark) => format!("timestamp_micros({rest})"),
            // The whole number of a quotient of whole numbers: {{div a, b}}.
            ("div", of) => {
                let (over, under) = rest.split_once(',').unwrap_or((rest, "1"));
                let sign = match of {
                    Self::DataFusion => "/",
                    Self::DuckDb => "//",
                    Self::Spark => "DIV",
                };
                format!("({over} {sign} {})", under.trim())
            }
            // Nobody writes others: a test asks all reports.
            _ => format!("{{{{{word}}}}}"),
        }
    }
}

fn from_hex(digits: &str) -> String {
    let pair = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
    let bytes: Vec<_> = (0..digits.len()).step_by(2).filter_map(pair).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_engine_gets_its_words() {
        let report = "SELECT {{name user}} WHERE {{has}}(comm, {{text ^a'\\.b}})";
        let of = |dialect: Dialect| dialect.spell(report);
        let rest = "WHERE regexp_like(comm, '^a''\\.b')";
        assert_eq!(of(Dialect::DataFusion), format!("SELECT \"user\" {rest}"));
        let duck = rest.replace("regexp_like", "regexp_matches");
        assert_eq!(of(Dialect::DuckDb), format!("SELECT \"user\" {duck}"));
        let spark = "SELECT `user` WHERE regexp_like(comm, '^a\\'\\\\.b')";
        assert_eq!(of(Dialect::Spark), spark);
        assert_eq!(Dialect::DuckDb.spell("{{div a, 7}}"), "(a // 7)");
    }
}
