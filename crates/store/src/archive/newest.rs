//! The newest attempts of a category: which row groups of files of many need not be read for them,
//! by what these say of their ends.

use super::pack::Pack;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::statistics::{Statistics, ValueStatistics};
use std::collections::HashSet;

/// A row group whose attempts are all of the category.
struct Group {
    pack: usize,
    number: usize,
    rows: u64,
    /// None of them is older; not known if one may say nothing of that.
    least: Option<i64>,
    /// None of them is newer.
    most: Option<i64>,
}

/// What is passed over.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Passed {
    /// Row groups by file, in the order of the files.
    pub(super) groups: Vec<Vec<usize>>,
    /// Attempts in them, each counted once.
    pub(super) rows: u64,
}

/// The row groups none of whose attempts are among the `newest` of the category, by their end, else
/// their beginning. Of each file also the rows whose attempts count elsewhere.
pub(super) fn passed<'a>(
    packs: impl Iterator<Item = (&'a Pack, &'a HashSet<u64>)>,
    category: &str,
    newest: usize,
) -> Passed {
    let mut passed = Passed::default();
    let mut groups = Vec::new();
    for (pack, (file, again)) in packs.enumerate() {
        passed.groups.push(Vec::new());
        let mut first = 0;
        for (number, group) in file.groups().enumerate() {
            let rows = u64::try_from(group.num_rows()).unwrap_or(0);
            if is_all_of(group, category) {
                let elsewhere = again
                    .iter()
                    .filter(|row| (first..first + rows).contains(row));
                let (least, most) = span(group);
                groups.push(Group {
                    pack,
                    number,
                    rows: rows - elsewhere.count() as u64,
                    least,
                    most,
                });
            }
            first += rows;
        }
    }
    let Some(since) = since(&mut groups, newest as u64) else {
        return passed;
    };
    for group in &groups {
        if group.most.is_some_and(|most| most < since)
            && let Some(numbers) = passed.groups.get_mut(group.pack)
        {
            numbers.push(group.number);
            passed.rows += group.rows;
        }
    }
    passed
}

/// An instant after which there are as many attempts as that; none if there are not so many.
fn since(groups: &mut [Group], newest: u64) -> Option<i64> {
    groups.sort_by_key(|group| std::cmp::Reverse(group.least));
    let mut there = 0;
    groups.iter().find_map(|group| {
        there += group.rows;
        group.least.filter(|_| there >= newest)
    })
}

fn statistics<'a>(group: &'a RowGroupMetaData, name: &str) -> Option<&'a Statistics> {
    let mut columns = group.columns().iter();
    let column = columns.find(|column| column.column_path().string() == name);
    column.and_then(|column| column.statistics())
}

/// Whether its attempts are all of a category, and said to be.
pub(super) fn is_all_of(group: &RowGroupMetaData, category: &str) -> bool {
    let Some(Statistics::ByteArray(told)) = statistics(group, "category") else {
        return false;
    };
    let is = |bytes: Option<&[u8]>| bytes == Some(category.as_bytes());
    let whole = told.min_is_exact() && told.max_is_exact() && told.null_count_opt() == Some(0);
    whole && is(told.min_bytes_opt()) && is(told.max_bytes_opt())
}

/// The bounds of when its attempts ended, or else began; the first is known only if all say so.
fn span(group: &RowGroupMetaData) -> (Option<i64>, Option<i64>) {
    let (Some(Statistics::Int64(ended)), Some(Statistics::Int64(began))) =
        (statistics(group, "ended"), statistics(group, "began"))
    else {
        return (None, None);
    };
    // One before 1970 is as good as none.
    let first = |told: &ValueStatistics<i64>| {
        let all = told.null_count_opt() == Some(0);
        told.min_opt().copied().filter(|least| all && *least >= 0)
    };
    match (first(ended), first(began)) {
        (Some(least), _) => (Some(least), ended.max_opt().copied()),
        (None, least) => {
            let least = match ended.min_opt() {
                Some(ended) => least.map(|least| least.min(*ended).max(0)),
                None => least,
            };
            (least, ended.max_opt().max(began.max_opt()).copied())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(of: &[(u64, Option<i64>)]) -> Vec<Group> {
        let group = |(number, (rows, least)): (usize, &(u64, Option<i64>))| Group {
            pack: 0,
            number,
            rows: *rows,
            least: *least,
            most: None,
        };
        of.iter().enumerate().map(group).collect()
    }

    #[test]
    fn as_many_are_after_the_instant_as_are_wanted() {
        let of = [
            (10, Some(100)),
            (10, Some(300)),
            (10, None),
            (10, Some(200)),
        ];
        let since = |newest| super::since(&mut groups(&of), newest);
        assert_eq!(since(1), Some(300));
        assert_eq!(since(10), Some(300));
        assert_eq!(since(11), Some(200));
        assert_eq!(since(30), Some(100));
        // Those of which it is not known may be of any time.
        assert_eq!(since(31), None);
    }
}
