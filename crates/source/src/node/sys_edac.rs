//! `/sys/devices/system/edac/mc`: errors of the memory that the hardware told, by controller and by
//! module.

use super::fields::{Field, count};
use super::kept::Opener;
use super::kept::numbered;
use super::numbers::Numbers;
use super::source::{Reading, Source, Tried};
use record::unit::Nanos;
use record::value::Absent;

const CONTROLLER: &[Field] = &[
    count(
        "ce_count",
        "edac_corrected",
        "errors of a memory controller that were corrected",
    ),
    count(
        "ue_count",
        "edac_uncorrected",
        "errors that could not be corrected",
    ),
    count(
        "ce_noinfo_count",
        "edac_corrected_unplaced",
        "the corrected ones of which no module is known",
    ),
    count(
        "ue_noinfo_count",
        "edac_uncorrected_unplaced",
        "the others of which no module is known",
    ),
];

const MODULE: &[Field] = &[
    count(
        "dimm_ce_count",
        "edac_module_corrected",
        "errors of a memory module that were corrected",
    ),
    count(
        "dimm_ue_count",
        "edac_module_uncorrected",
        "errors that could not be corrected",
    ),
];

/// Its row of the table of sources.
pub const SOURCE: Source = Source {
    name: "sys_edac",
    file: "/sys/devices/system/edac/mc/mcN",
    fields: &[CONTROLLER, MODULE],
    tried: Tried::FixtureOnly,
    period: Nanos::from_secs(10),
    listed: true,
    open,
};

fn open(opener: &mut Opener) -> Result<Box<dyn Reading>, Absent> {
    let mut numbers = Numbers::default();
    let controllers = opener.root().sys("devices/system/edac/mc");
    for controller in numbers.names(&controllers) {
        if numbered(&controller, "mc").is_none() {
            continue;
        }
        let folder = controllers.join(&controller);
        numbers.add(opener, &folder, &controller, CONTROLLER);
        for module in numbers.names(&folder) {
            // `rank` where the controller does not know modules.
            let is_module = ["dimm", "rank"]
                .iter()
                .any(|stem| numbered(&module, stem).is_some());
            if is_module {
                let instance = format!("{controller}/{module}");
                numbers.add(opener, &folder.join(&module), &instance, MODULE);
            }
        }
    }
    numbers.into_reading()
}
