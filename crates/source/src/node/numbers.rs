//! Folders of files with one number each, as the kernel shows devices.

use super::fields::Field;
use super::kept::{KeptFile, Opener, list};
use super::rows::Rows;
use super::source::Reading;
use record::unit::Unit;
use record::value::Absent;
use std::path::{Path, PathBuf};

/// Files of one source, at most.
const FILES_MAX: usize = 4096;

/// Files of one number each.
#[derive(Default)]
pub(super) struct Numbers {
    files: Vec<One>,
    left_out: u64,
}

struct One {
    field: Field,
    instance: String,
    file: KeptFile,
}

impl Numbers {
    /// The names in a folder; what is too much is counted.
    pub(super) fn names(&mut self, folder: &Path) -> Vec<String> {
        let (names, more) = list(folder);
        self.left_out = self.left_out.saturating_add(more);
        names
    }

    /// Each of `fields` of which there is a file in `folder`: their keys are its files.
    pub(super) fn add(
        &mut self,
        opener: &mut Opener,
        folder: &Path,
        instance: &str,
        fields: &[Field],
    ) {
        for field in fields {
            self.add_file(opener, folder.join(field.key), instance, field);
        }
    }

    /// One file, if it is there.
    pub(super) fn add_file(
        &mut self,
        opener: &mut Opener,
        path: PathBuf,
        instance: &str,
        field: &Field,
    ) {
        if self.files.len() >= FILES_MAX {
            self.left_out = self.left_out.saturating_add(1);
            return;
        }
        if let Some(file) = opener.open_any(path) {
            self.files.push(One {
                field: *field,
                instance: instance.to_owned(),
                file,
            });
        }
    }

    /// To be read again and again; `NoDevice` where there is none.
    pub(super) fn into_reading(self) -> Result<Box<dyn Reading>, Absent> {
        match self.files.is_empty() {
            true => Err(Absent::NoDevice),
            false => Ok(Box::new(self)),
        }
    }
}

impl Reading for Numbers {
    fn read(&mut self, rows: &mut Rows) -> Result<(), Absent> {
        rows.leave_out(self.left_out);
        for one in &self.files {
            // What a device does not tell now has no row: one may be taken out, or sleep.
            let instance = one.instance.as_bytes();
            if one.field.metric.unit == Unit::Millicelsius {
                if let Some(degrees) = one.file.signed() {
                    rows.put_signed(one.field.metric.name, instance, degrees);
                }
            } else if let Some(number) = one.file.number() {
                one.field.put(rows, instance, number);
            }
        }
        Ok(())
    }
}
