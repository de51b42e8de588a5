//! What a job mostly did when.

use super::types::{Doing, Phase, Step, Totals};

/// Less than this part of its mean rate is no phase of reading or writing.
const OF_MEAN: f64 = 0.5;
/// Nor is less than this, bytes a second: that is what logs write.
const RATE_MIN: f64 = 65_536.0;
/// Fewer CPUs are busy by chance.
const CORES_MIN: f64 = 0.1;
/// Who moves less than so many bytes for a second of CPU time does something else with most of it:
/// compressors do, and programs that begin; copies move some ten times as much.
const BYTES_PER_CPU: f64 = 67_108_864.0;

/// What it mostly did, from the first to the last of its readings.
///
/// It reads or writes where it moves at least half as many bytes a second as it does on the whole,
/// so that bursts stand out and a steady stream is one phase, unless its CPUs are busy with
/// something else; else it computes or waits.
pub(super) fn phases(totals: &Totals) -> Vec<Phase> {
    let enough = enough(totals);
    let mut phases: Vec<Phase> = Vec::new();
    for (place, step) in totals.cores.iter().enumerate() {
        let of = |steps: &[Step]| steps.get(place).map_or(0.0, |step| step.rate);
        let (read, written) = (of(&totals.read), of(&totals.written));
        let moved = read + written;
        let is_busy = step.rate >= CORES_MIN;
        let doing = if moved >= enough && !(is_busy && moved < BYTES_PER_CPU * step.rate) {
            match read >= written {
                true => Doing::Reading,
                false => Doing::Writing,
            }
        } else if is_busy {
            Doing::Computing
        } else {
            Doing::Waiting
        };
        match phases.last_mut() {
            Some(last) if last.doing == doing && last.to == step.from => last.to = step.to,
            _ => phases.push(Phase {
                from: step.from,
                to: step.to,
                doing,
            }),
        }
    }
    phases
}

/// Bytes a second that make a phase.
fn enough(totals: &Totals) -> f64 {
    let all = totals.read.iter().chain(&totals.written);
    let bytes: f64 = all.map(|step| step.rate * nanos(step)).sum();
    let time: f64 = totals.cores.iter().map(nanos).sum();
    (OF_MEAN * bytes / time.max(1.0)).max(RATE_MIN)
}

fn nanos(step: &Step) -> f64 {
    (step.to - step.from) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(rates: &[f64]) -> Vec<Step> {
        let step = |(at, rate): (i64, &f64)| Step {
            from: at,
            to: at + 1,
            rate: *rate,
        };
        (0..).zip(rates).map(step).collect()
    }

    #[test]
    fn bursts_stand_out_and_a_trickle_is_none() {
        let mib = 1_048_576.0;
        let totals = Totals {
            cores: steps(&[0.1, 0.9, 1.0, 1.0, 0.0, 0.2]),
            read: steps(&[100.0 * mib, mib, 0.0, 0.0, 0.0, 0.0]),
            written: steps(&[mib, mib, 0.0, 1.0, 0.0, 60.0 * mib]),
            ..Totals::default()
        };
        let told: Vec<_> = phases(&totals)
            .iter()
            .map(|phase| (phase.from, phase.to, phase.doing))
            .collect();
        assert_eq!(
            told,
            [
                (0, 1, Doing::Reading),
                (1, 4, Doing::Computing),
                (4, 5, Doing::Waiting),
                (5, 6, Doing::Writing)
            ]
        );
        let steady = Totals {
            cores: steps(&[0.1; 4]),
            read: steps(&[9.0 * mib, 10.0 * mib, 11.0 * mib, 10.0 * mib]),
            ..Totals::default()
        };
        let only = |totals: &Totals| match phases(totals).as_slice() {
            [phase] => phase.doing,
            more => panic!("{more:?}"),
        };
        assert_eq!(only(&steady), Doing::Reading);
        let compressing = Totals {
            cores: steps(&[1.0; 4]),
            ..steady.clone()
        };
        assert_eq!(only(&compressing), Doing::Computing);
        let slow = Totals {
            cores: steps(&[0.02; 4]),
            read: steps(&[mib; 4]),
            ..Totals::default()
        };
        assert_eq!(only(&slow), Doing::Reading);
        let quiet = Totals {
            cores: steps(&[1.0; 4]),
            written: steps(&[1000.0; 4]),
            ..Totals::default()
        };
        assert_eq!(only(&quiet), Doing::Computing);
    }
}
