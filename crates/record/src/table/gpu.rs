//! `gpu`: what a process has of a graphics processor at one instant.

use super::sample::KEY as PROCESS;
use super::{Column, Form, Table, int, text};
use crate::codec::key::{put_int, put_text};
use crate::gpu::GpuUse;
use crate::identity::ProcessId;

/// The table.
pub const TABLE: Table = Table {
    id: 7,
    name: "gpu",
    form: Form::Series,
    key: &KEY,
    once: None,
    columns: &COLUMNS,
    doc: "A process on a graphics processor at one instant (fixture only); there is a row for \
          every reading.",
};

const KEY: [Column; 3] = match *PROCESS {
    [pid, start] => [
        pid,
        start,
        text(
            "device",
            "nvmlDeviceGetUUID",
            "the device; of a part of one that, a blank, and the part: as `instance` in `node`",
        ),
    ],
    _ => panic!("a process has another key"),
};

/// Columns of a row.
pub const COLUMN_COUNT: usize = COLUMNS.len();

const COLUMNS: [Column; 2] = [
    int(
        "memory",
        "bytes",
        "nvmlDeviceGetComputeRunningProcesses, nvmlDeviceGetGraphicsRunningProcesses",
        "device memory of the process",
    ),
    int(
        "busy",
        "millionths",
        "nvmlDeviceGetProcessUtilization smUtil",
        "part of the time since the reading before in which its kernels ran, by samples",
    ),
];

/// The key of a process on a device.
pub fn key(id: ProcessId, device: &str, into: &mut Vec<u8>) {
    into.clear();
    put_int(into, id.pid.into());
    put_int(into, i64::try_from(id.start_ns.0).unwrap_or(i64::MAX));
    put_text(into, device.as_bytes());
}

/// Fills the values of a row; which of them are there, a bit each.
pub fn values(of: &GpuUse, into: &mut [i64; COLUMN_COUNT]) -> u128 {
    let told = [of.memory.map(|bytes| bytes.0), of.busy_millionths];
    let mut present = 0;
    for (place, value) in told.into_iter().enumerate() {
        let value = value.and_then(|value| i64::try_from(value).ok());
        if let (Some(value), Some(slot)) = (value, into.get_mut(place)) {
            *slot = value;
            present |= 1 << place;
        }
    }
    present
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::key::{Part, parts};
    use crate::unit::{Bytes, Nanos};

    #[test]
    fn a_row_has_what_is_known() {
        let (mut row, mut bytes) = ([0; COLUMN_COUNT], Vec::new());
        let of = GpuUse {
            pid: 7,
            memory: None,
            busy_millionths: Some(500_000),
        };
        assert_eq!((values(&of, &mut row), row[1]), (0b10, 500_000));
        let all = GpuUse {
            memory: Some(Bytes(9)),
            ..of
        };
        assert_eq!((values(&all, &mut row), row), (0b11, [9, 500_000]));
        key(
            ProcessId::new(7, Nanos(10_000_000)),
            "GPU-0 MIG-1",
            &mut bytes,
        );
        let told = [
            Part::Int(7),
            Part::Int(10_000_000),
            Part::Text(b"GPU-0 MIG-1".to_vec()),
        ];
        assert_eq!(parts(TABLE.key, &bytes).unwrap().as_slice(), told);
    }
}
