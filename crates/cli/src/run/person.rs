//! Who runs the task and owns its files: names from `/etc/passwd` and `/etc/group` alone (a static
//! program cannot ask more); whether what this user starts outlives the login.

use std::path::Path;

/// Users whose systemd goes on without a login have a file here.
const LINGER: &str = "/var/lib/systemd/linger";

/// The name of the user or group `id` in the text of a passwd or group file, if it is there.
pub(crate) fn name_in(passwd: &str, wanted: u32) -> Option<String> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, _, id) = (fields.next()?, fields.next()?, fields.next()?);
        (id.parse() == Ok(wanted) && !name.is_empty()).then(|| name.to_owned())
    })
}

/// The name of `uid`, or its digits.
pub(crate) fn name(uid: u32) -> String {
    known(uid).unwrap_or_else(|| uid.to_string())
}

/// The name of `uid`, if there is one.
pub(crate) fn known(uid: u32) -> Option<String> {
    name_in(&std::fs::read_to_string("/etc/passwd").ok()?, uid)
}

/// The id of the user called `name`, if there is one.
pub(crate) fn id(name: &str) -> Option<u32> {
    id_in(&std::fs::read_to_string("/etc/passwd").ok()?, name)
}

fn id_in(passwd: &str, wanted: &str) -> Option<u32> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, _, id) = (fields.next()?, fields.next()?, fields.next()?);
        (name == wanted).then(|| id.parse().ok())?
    })
}

/// The name of the group `gid`, if there is one.
pub(crate) fn group(gid: u32) -> Option<String> {
    name_in(&std::fs::read_to_string("/etc/group").ok()?, gid)
}

/// Whether the systemd of `user` goes on without a login (`loginctl enable-linger`).
pub(crate) fn lingers(user: &str) -> bool {
    !user.is_empty() && !user.contains('/') && Path::new(LINGER).join(user).exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uid_is_named_if_the_file_tells() {
        let passwd = "root:x:0:0::/root:/bin/sh\nbroken\n:x:7:7\nweb:x:33:33::/:/bin/false\n";
        assert_eq!(name_in(passwd, 33).as_deref(), Some("web"));
        assert_eq!(name_in(passwd, 7), None);
        assert_eq!(name_in(passwd, 34), None);
        assert_eq!(id_in(passwd, "web"), Some(33));
        assert_eq!(id_in(passwd, "broken"), None);
    }
}
