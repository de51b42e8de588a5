//! Puts the page into the crate, where it was built before: the file that `PLIMSOLL_PAGE` names,
//! else `web/dist/index.html`.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// As in `src/page.rs`.
const MARKER: &str = "<!-- plimsoll-data -->";

fn main() -> Result<(), String> {
    println!("cargo::rerun-if-env-changed=PLIMSOLL_PAGE");
    println!("cargo::rerun-if-changed=build.rs");
    let variable = |name: &str| env::var_os(name).ok_or_else(|| format!("{name} is not set"));
    let page = match env::var_os("PLIMSOLL_PAGE").filter(|name| !name.is_empty()) {
        Some(named) => {
            let named = PathBuf::from(named);
            println!("cargo::rerun-if-changed={}", named.display());
            Some(named)
        }
        None => usual(Path::new(&variable("CARGO_MANIFEST_DIR")?)),
    };
    let code = match page {
        None => "None".to_owned(),
        Some(path) => format!("Some({:?})", read(&path)?),
    };
    let out = PathBuf::from(variable("OUT_DIR")?).join("page.rs");
    let text =
        format!("/// The page, if there was one.\npub(super) const PAGE: Option<&str> = {code};\n");
    fs::write(&out, text).map_err(|error| format!("{}: {error}", out.display()))
}

/// The page of this repository. Where there is none, the nearest folder is watched: a file that is
/// not there would be waited for at every build.
fn usual(manifest: &Path) -> Option<PathBuf> {
    let web = manifest.join("../../web");
    let page = web.join("dist/index.html");
    let places = [page.clone(), web.join("dist"), web];
    if let Some(watched) = places.iter().find(|place| place.exists()) {
        println!("cargo::rerun-if-changed={}", watched.display());
    }
    page.exists().then_some(page)
}

fn read(path: &Path) -> Result<String, String> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    match text.matches(MARKER).count() {
        1 => Ok(text),
        found => Err(format!(
            "{}: {found} times `{MARKER}`, not once",
            path.display()
        )),
    }
}
