//! What the shared memory of the whole machine did while a task ran, files in tmpfs included.

/// Of the looks at it.
#[derive(Debug, Default)]
pub(crate) struct MachineShared {
    looks: Option<Looks>,
}

#[derive(Debug)]
struct Looks {
    first: u64,
    most: u64,
    fell: u64,
}

impl MachineShared {
    /// There is so much now; first as the task begins.
    pub(crate) fn now(&mut self, bytes: u64) {
        let looks = self.looks.get_or_insert(Looks {
            first: bytes,
            most: bytes,
            fell: 0,
        });
        looks.most = looks.most.max(bytes);
        looks.fell = looks.fell.max(looks.most - bytes);
    }

    /// By so much it was more than as the task began.
    pub(crate) fn grown(&self) -> u64 {
        self.looks
            .as_ref()
            .map_or(0, |looks| looks.most - looks.first)
    }

    /// By so much it was less than at an earlier look: others may have given back as much unseen,
    /// where the task took some.
    pub(crate) fn fell(&self) -> u64 {
        self.looks.as_ref().map_or(0, |looks| looks.fell)
    }
}
