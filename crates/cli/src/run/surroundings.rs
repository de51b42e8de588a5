//! The machine, the scheduler's word and what is provided, gathered before the task starts.

use super::facts::Surroundings;
use record::report::Claim;
use record::unit::Unit;
use source::context::{self, Context};
use source::group::{OomKills, Throttles};
use source::query::gpu::visible;
use source::query::host;
use source::query::proc_pid_cgroup::{self, Membership};
use source::root::Root;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use sys::cgroup::Places;

/// A file that the environment names is read up to here.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Reads the surroundings; what cannot be read stays empty.
pub(crate) fn gather() -> Surroundings {
    let root = Root::default();
    let groups = proc_pid_cgroup::read(&root, None).unwrap_or_default();
    let context = context_in(&groups);
    let mut allocation = host::allocation(&root);
    if let Some((count, source)) = visible::shown(|name| std::env::var(name).ok()) {
        narrow(
            &mut allocation,
            "gpus",
            Claim::whole(count, Unit::Count, source),
        );
    }
    let mut oom = OomKills::default();
    let mut throttles = Throttles::default();
    if let Ok(places) = Places::find() {
        oom = OomKills::begin(&root, &places);
        throttles = Throttles::begin(&places);
        let nearest = source::group::nearest_limits(&places);
        if let Some(memory) = nearest.memory {
            allocation.insert("memory".to_owned(), memory);
        }
        for cores in [nearest.cores_quota, nearest.cores_cpuset]
            .into_iter()
            .flatten()
        {
            narrow(&mut allocation, "cores", cores);
        }
    }
    Surroundings {
        job: context.job,
        image: context.image,
        nodes: context.nodes,
        request: context.request,
        allocation,
        oom,
        throttles,
        host: host::facts(&root).host,
    }
}

/// No more than this was provided.
pub(super) fn narrow(allocation: &mut BTreeMap<String, Claim>, resource: &str, claim: Claim) {
    let less = |known: &Claim| claim.value.as_f64() < known.value.as_f64();
    if allocation.get(resource).is_none_or(less) {
        allocation.insert(resource.to_owned(), claim);
    }
}

/// Which job this process is in, being in these control groups.
pub(crate) fn context_in(groups: &[Membership]) -> Context {
    let env = |name: &str| std::env::var(name).ok();
    let file = |path: &Path| read(path);
    context::identify(&context::Surroundings {
        env: &env,
        file: &file,
        groups,
    })
}

/// Whether the kernel could tell how long the disk was waited for, but is told not to.
pub(crate) fn delay_accounting_is_off() -> bool {
    std::fs::read_to_string("/proc/sys/kernel/task_delayacct").is_ok_and(|text| text.trim() == "0")
}

fn read(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .ok()?
        .take(FILE_BYTES_MAX)
        .read_to_end(&mut bytes)
        .ok()?;
    Some(bytes)
}
