//! Who runs the task: a name for a uid, from `/etc/passwd` alone (a static program cannot ask
//! more); whether what this user starts outlives the login.

use std::path::Path;

/// Users whose systemd goes on without a login have a file here.
const LINGER: &str = "/var/lib/systemd/linger";

/// The name of `uid` in a passwd file's text, if it is there.
pub(crate) fn name_in(passwd: &str, uid: u32) -> Option<String> {
    passwd.lines().find_map(|line| {
        let mut fields = line.split(':');
        let (name, _, id) = (fields.next()?, fields.next()?, fields.next()?);
        (id.parse() == Ok(uid) && !name.is_empty()).then(|| name.to_owned())
    })
}

/// The name of `uid`, or its digits.
pub(crate) fn name(uid: u32) -> String {
    std::fs::read_to_string("/etc/passwd")
        .ok()
        .and_then(|passwd| name_in(&passwd, uid))
        .unwrap_or_else(|| uid.to_string())
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
    }
}
