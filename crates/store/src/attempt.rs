//! A report of ours as an attempt of an archive.

use crate::category::{category_of_command, program_of_command};
use crate::identity::Identity;
use record::attempt::{Amount, Amounts, Attempt, End, Known, RESOURCES};
use record::report::serde_free::Scalar;
use record::report::{Evidence, Exceeded, ExitType, Report};
use record::timestamp::parse_rfc3339;
use record::value::{Method, Number, Value};

/// What attempts are called that reports of ours told.
pub const FORMAT_NAME: &str = "plimsoll";

/// The signal, and the exit code of a shell, of a process that the kernel killed.
const KILLED: i32 = 9;
const KILLED_CODE: i32 = 137;
/// How evidence of the process that sent that begins.
const KILLED_BY: &str = "SIGKILL from ";

/// What the evidence says of a kill that was certainly of the task.
const OWN_GROUP: &str = "task's control group";

/// What tells a report from all others: the task, the boot, the instant, the attempt.
pub fn identity_of_report(report: &Report) -> Identity {
    Identity::new(FORMAT_NAME)
        .with(report.task.id.as_bytes())
        .with(report.host.boot_id.as_bytes())
        .with(report.start.as_bytes())
        .with(&report.task.attempt.to_le_bytes())
}

/// The attempt that a report tells of. A task that had not ended has an unknown [`End`], and what
/// it used until then.
pub fn of_report(report: &Report) -> Attempt {
    let task = &report.task;
    let image = task.image.as_deref();
    let (end, exceeded) = end(report);
    let category = task.category.clone().filter(|name| !name.is_empty());
    let job = task.job.array.clone().or_else(|| task.job.id.clone());
    Attempt {
        id: identity_of_report(report).text(),
        format: FORMAT_NAME.to_owned(),
        category: category.unwrap_or_else(|| category_of_command(&task.command, image)),
        tool: program_of_command(&task.command),
        command: task.command.clone(),
        task: some(&task.id),
        image: task.image.clone(),
        attempt: Some(task.attempt).filter(|number| *number > 0),
        job,
        user: some(&task.user),
        host: some(&report.host.name),
        host_class: host_class(
            report.host.cpu_model.as_deref(),
            Some(report.host.cpus).filter(|cpus| *cpus > 0),
        ),
        began: instant(&report.start),
        ended: instant(&report.end),
        end,
        exit_code: report.exit.code,
        signal: report.exit.signal,
        exceeded,
        cause: report.exit.cause.clone(),
        input_size: task.inputs_bytes,
        requested: requested(report),
        used: used(report),
        labels: task.labels.clone(),
        ..Attempt::default()
    }
}

/// What machines of a kind have in common: `MODEL, N CPUs`. None where the model is not known, for
/// then two machines of so many CPUs may be unlike.
pub fn host_class(model: Option<&str>, cpus: Option<u64>) -> Option<String> {
    let model = model.map(str::trim).filter(|model| !model.is_empty())?;
    Some(match cpus {
        Some(cpus) => format!("{model}, {cpus} CPUs"),
        None => model.to_owned(),
    })
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

fn instant(text: &str) -> Option<i64> {
    i64::try_from(parse_rfc3339(text)?).ok()
}

/// The name that a resource of a limit or request has here.
fn resource_name(name: &str) -> &str {
    match name {
        "footprint" => "disk",
        name => name,
    }
}

/// How it ended, and for which resource.
fn end(report: &Report) -> (End, Option<String>) {
    let exit = &report.exit;
    let exceeded = || {
        let enforced = report.exceeded.iter().find(|one| one.enforced);
        let one: Option<&Exceeded> = enforced.or(report.exceeded.first());
        one.map(|one| resource_name(&one.resource).to_owned())
    };
    match (exit.kind, exit.code) {
        (ExitType::Limit, _) => (End::Limit, exceeded()),
        (ExitType::Normal, Some(0)) => (End::Done, None),
        (ExitType::Running | ExitType::Unknown, _) => (End::Unknown, None),
        _ if was_starved(report) => (End::Limit, Some("memory".to_owned())),
        _ => (End::Failed, None),
    }
}

/// Whether the kernel ended it for want of memory: it killed in the task's own control group, or
/// around it when the task ended as one does that was killed; but not if a process is known to
/// have killed it.
fn was_starved(report: &Report) -> bool {
    let exit = &report.exit;
    let was_killed = exit.signal == Some(KILLED) || exit.code == Some(KILLED_CODE);
    let by_process = |one: &Evidence| {
        let is_kill = |text: &str| text.starts_with(KILLED_BY);
        one.kind == "killed_by" && matches!(&one.value, Scalar::Text(text) if is_kill(text))
    };
    if exit.signal == Some(KILLED) && exit.evidence.iter().any(by_process) {
        return false;
    }
    let mut kills = exit.evidence.iter().filter(|one| one.kind == "oom_kill");
    kills.any(|one| was_killed || one.source.contains(OWN_GROUP))
}

fn requested(report: &Report) -> Amounts {
    let mut amounts = Amounts::default();
    let limits = report.limits.iter();
    let limits = limits.map(|set| (set.resource.as_str(), set.limit));
    let claims = report.request.iter();
    let claims = claims.map(|(name, claim)| (name.as_str(), claim.value));
    // A request is told before a limit.
    for (name, value) in limits.chain(claims).filter(|(_, value)| is_amount(*value)) {
        let known = Known::Claimed;
        amounts.set(resource_name(name), Amount::new(value, known));
    }
    amounts
}

fn used(report: &Report) -> Amounts {
    let mut amounts = Amounts::default();
    for (place, resource) in RESOURCES.iter().enumerate() {
        let told = |metric: &&str| report.usage.get(metric)?.value();
        let value = resource.metrics.iter().find_map(told);
        amounts.set_at(
            place,
            value.filter(|value| is_amount(value.value)).map(amount),
        );
    }
    amounts
}

/// Amounts are below this, as in [`record::quantity`].
const TOO_LARGE: f64 = 9.2e18;

/// Whether a number can be an amount: a report may come from anybody.
fn is_amount(value: Number) -> bool {
    (0.0..TOO_LARGE).contains(&value.as_f64())
}

fn amount(value: &Value) -> Amount {
    let known = match value.method {
        Method::Exact => Known::Exact,
        Method::Sampled { .. } => Known::Sampled,
        Method::LowerBound { .. } => Known::LowerBound,
        Method::UpperBound => Known::UpperBound,
        Method::Scaled => Known::Scaled,
        Method::Claimed => Known::Claimed,
    };
    let upper = match value.method {
        Method::LowerBound { upper } => upper.filter(|upper| (*upper as f64) < TOO_LARGE),
        _ => None,
    };
    Amount {
        upper,
        ..Amount::new(value.value, known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        let text = include_str!("../tests/fixtures/report.json");
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_report_becomes_an_attempt() {
        let one = of_report(&report());
        assert_eq!((one.category.as_str(), one.attempt), ("build", Some(2)));
        assert_eq!(
            (one.end, one.exceeded.as_deref()),
            (End::Limit, Some("memory"))
        );
        assert_eq!(one.began, Some(1_795_222_923_000_004_000));
        let memory = one.requested.get("memory").unwrap();
        assert_eq!(memory.value, Number::Whole(512 << 20));
        assert_eq!(one.used.get("gpu_memory"), None);
        assert_eq!(one.used.get("cores").unwrap().known, Known::LowerBound);
        assert_eq!(one.host_class, None);
        assert_eq!(of_report(&report()), one);
        let memory = one.used.get("memory").unwrap();
        let between = (Known::LowerBound, Some(1_000_022));
        assert_eq!((memory.known, memory.upper), between);
    }

    #[test]
    fn a_kill_for_want_of_memory_is_a_limit() {
        let mut report = report();
        report.exit.kind = ExitType::Signal;
        assert_eq!(end(&report), (End::Limit, Some("memory".to_owned())));
        let mut killed = report.clone();
        killed.exit.signal = Some(9);
        assert_eq!(end(&killed).0, End::Limit);
        killed.exit.evidence.push(Evidence {
            kind: "killed_by".to_owned(),
            value: Scalar::Text("SIGKILL from pid 7 of uid 0 (bash)".to_owned()),
            source: "signal_generate".to_owned(),
        });
        assert_eq!(end(&killed), (End::Failed, None));
        report.exit.signal = Some(11);
        assert_eq!(end(&report).0, End::Failed);
        report.exit.evidence[0].source = "oom_kill of the task's control group".to_owned();
        assert_eq!(end(&report).0, End::Limit);
        report.exit.kind = ExitType::Running;
        assert_eq!(end(&report).0, End::Unknown);
    }

    #[test]
    fn a_class_of_machines_needs_a_model() {
        assert_eq!(
            host_class(Some("EPYC 7551"), Some(64)).unwrap(),
            "EPYC 7551, 64 CPUs"
        );
        assert_eq!(host_class(None, Some(64)), None);
        assert_eq!(host_class(Some(" "), None), None);
    }
}
