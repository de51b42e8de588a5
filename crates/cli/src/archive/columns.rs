//! Columns of an archive that several look at in one reading, each by places of its own.

use store::archive::Batch;

/// The names that are to be read, each once.
#[derive(Debug, Default)]
pub(crate) struct Columns(Vec<String>);

/// Where the columns of one of those who look are in a batch.
#[derive(Debug)]
pub(crate) struct Places(Vec<usize>);

/// A row, by the places of one of those who look.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    batch: &'a Batch<'a>,
    places: &'a Places,
    row: usize,
}

impl Columns {
    /// Has these read as well, and tells where they are.
    pub(crate) fn add<T: AsRef<str>>(&mut self, names: &[T]) -> Places {
        let mut place = |name: &str| {
            let found = self.0.iter().position(|one| one == name);
            found.unwrap_or_else(|| {
                self.0.push(name.to_owned());
                self.0.len() - 1
            })
        };
        Places(names.iter().map(|name| place(name.as_ref())).collect())
    }

    /// All of them.
    #[cfg(feature = "serve")]
    pub(crate) fn into_names(self) -> Vec<String> {
        self.0
    }

    /// All of them, as they are asked for.
    pub(crate) fn names(&self) -> Vec<&str> {
        self.0.iter().map(String::as_str).collect()
    }
}

impl Places {
    /// A row of a batch.
    pub(crate) fn row<'a>(&'a self, batch: &'a Batch<'a>, row: usize) -> Row<'a> {
        Row {
            batch,
            places: self,
            row,
        }
    }

    /// None is beyond all columns, where nothing is known.
    fn at(&self, column: usize) -> usize {
        self.0.get(column).copied().unwrap_or(usize::MAX)
    }
}

impl<'a> Row<'a> {
    pub(crate) fn text(self, column: usize) -> Option<&'a str> {
        self.batch.text(self.places.at(column), self.row)
    }

    pub(crate) fn int(self, column: usize) -> Option<i64> {
        self.batch.int(self.places.at(column), self.row)
    }

    pub(crate) fn number(self, column: usize) -> Option<f64> {
        self.batch.number(self.places.at(column), self.row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_column_of_two_is_read_once() {
        let mut columns = Columns::default();
        let one = columns.add(&["end", "used_wall"]);
        let other = columns.add(&["used_wall", "id"]);
        assert_eq!(columns.names(), ["end", "used_wall", "id"]);
        assert_eq!((one.0, other.0), (vec![0, 1], vec![1, 2]));
    }
}
