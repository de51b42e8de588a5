//! Kubernetes: `resources` of a container, `activeDeadlineSeconds` of a job. `Gi` and `Mi` are of
//! 1024.

use super::words::{of, seconds, size};
use super::{Ask, Target};

/// Its row of the table of targets.
pub(super) const TARGET: Target = Target {
    name: "kubernetes",
    place: "into the container of the pod's description",
    write,
};

fn write(asks: &[Ask]) -> Vec<String> {
    let memory = of(asks, "memory").map(|it| format!("memory: {}", size(it.amount, "Gi", "Mi")));
    let cores = of(asks, "cores").map(|it| format!("cpu: \"{}\"", it.amount));
    let disk = of(asks, "footprint");
    let disk = disk.map(|it| format!("ephemeral-storage: {}", size(it.amount, "Gi", "Mi")));
    let amounts: Vec<_> = [&memory, &cores, &disk].into_iter().flatten().collect();
    let mut lines = Vec::new();
    if !amounts.is_empty() {
        lines.push("resources:".to_owned());
        lines.push("  requests:".to_owned());
        lines.extend(amounts.iter().map(|amount| format!("    {amount}")));
        lines.push("  limits:".to_owned());
        // A limit on CPUs throttles, and nobody else needs one.
        let limited = amounts
            .iter()
            .filter(|amount| Some(**amount) != cores.as_ref());
        let limited: Vec<_> = limited.map(|amount| format!("    {amount}")).collect();
        match limited.is_empty() {
            true => drop(lines.pop()),
            false => lines.extend(limited),
        }
    }
    if let Some(wall) = of(asks, "wall") {
        let seconds = seconds(wall.amount);
        lines.push(format!(
            "# into the spec of the job: activeDeadlineSeconds: {seconds}"
        ));
    }
    lines
}
