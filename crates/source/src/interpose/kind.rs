//! What a file is, from its mode and what else a mechanism knows of it.

use record::file::FileKind;

const FORMAT: u32 = 0o170_000;
const FIFO: u32 = 0o010_000;
const CHARACTER: u32 = 0o020_000;
const DIRECTORY: u32 = 0o040_000;
const BLOCK: u32 = 0o060_000;
const REGULAR: u32 = 0o100_000;
const SOCKET: u32 = 0o140_000;

const MAJOR_TTY: u32 = 4;
const MAJOR_CONSOLE: u32 = 5;
const MAJORS_PTY: std::ops::RangeInclusive<u32> = 136..=143;

/// What is known of a file's nature.
#[derive(Debug, Clone, Copy)]
pub(super) struct Nature {
    /// `st_mode`.
    pub(super) mode: u32,
    /// Device number of a device file: major and minor.
    pub(super) special: (u32, u32),
    /// It is on a file system that the kernel makes up.
    pub(super) of_kernel: bool,
    /// Its name is one of those that the kernel gives to memory with a descriptor.
    pub(super) of_memory: bool,
    /// It has a name in a file system: a pipe is a named one.
    pub(super) named: bool,
}

impl Nature {
    /// What it is.
    pub(super) fn kind(self) -> FileKind {
        match self.mode & FORMAT {
            REGULAR if self.of_kernel => FileKind::Kernel,
            REGULAR if self.of_memory => FileKind::Memory,
            REGULAR => FileKind::File,
            DIRECTORY => FileKind::Directory,
            FIFO if self.named => FileKind::Fifo,
            FIFO => FileKind::Pipe,
            SOCKET => FileKind::Socket,
            CHARACTER if is_terminal(self.special) => FileKind::Terminal,
            CHARACTER => FileKind::CharacterDevice,
            BLOCK => FileKind::BlockDevice,
            _ => FileKind::Anonymous,
        }
    }
}

/// Whether a file of this mode is a regular one.
pub(super) const fn is_regular(mode: u32) -> bool {
    mode & FORMAT == REGULAR
}

/// Whether a file of this mode is a socket.
pub(super) const fn is_socket(mode: u32) -> bool {
    mode & FORMAT == SOCKET
}

fn is_terminal((major, minor): (u32, u32)) -> bool {
    // 5:2 is the place where terminals are made.
    major == MAJOR_TTY || (major == MAJOR_CONSOLE && minor != 2) || MAJORS_PTY.contains(&major)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_by_mode_and_number() {
        let nature = Nature {
            mode: 0o100_644,
            special: (0, 0),
            of_kernel: false,
            of_memory: false,
            named: true,
        };
        let of = |mode| Nature { mode, ..nature }.kind();
        let device = |special| Nature {
            mode: 0o020_620,
            special,
            ..nature
        };
        assert_eq!(nature.kind(), FileKind::File);
        assert_eq!(of(0o010_600), FileKind::Fifo);
        assert_eq!(of(0o140_777), FileKind::Socket);
        assert_eq!(of(0o040_755), FileKind::Directory);
        assert_eq!(of(0o060_660), FileKind::BlockDevice);
        assert_eq!(of(0o600), FileKind::Anonymous);
        assert_eq!(device((136, 3)).kind(), FileKind::Terminal);
        assert_eq!(device((5, 0)).kind(), FileKind::Terminal);
        assert_eq!(device((5, 2)).kind(), FileKind::CharacterDevice);
        assert_eq!(device((1, 3)).kind(), FileKind::CharacterDevice);
    }
}
