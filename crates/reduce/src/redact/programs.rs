//! Programs that have options of which the name alone does not say that the value is a secret.

use super::HIDDEN;

/// A program by its names, with what its secrets stand behind.
#[derive(Debug)]
pub(super) struct Program {
    names: &'static [&'static str],
    /// Letters that may stand before the one of a secret in the same word.
    flags: &'static [u8],
    secrets: &'static [Secret],
}

/// Options that have a secret as their value, or as a part of it.
#[derive(Debug)]
pub(super) struct Secret {
    /// Short ones, with the value in the same word or the next one.
    letters: &'static [u8],
    /// Others, whole.
    options: &'static [&'static str],
    /// The value may be the next word.
    pub(super) takes_next: bool,
    pub(super) hides: Hides,
}

/// How much of a value is a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hides {
    /// All of it.
    All,
    /// What is behind the first of these.
    Behind(u8),
    /// All of it, unless it is the name of a file: one that has no `=`.
    Assigned,
}

const fn secret(letters: &'static [u8], options: &'static [&'static str], hides: Hides) -> Secret {
    Secret {
        letters,
        options,
        takes_next: true,
        hides,
    }
}

/// The value is never a word of its own.
const fn attached(letters: &'static [u8]) -> Secret {
    Secret {
        takes_next: false,
        ..secret(letters, &[], Hides::All)
    }
}

const fn program(
    names: &'static [&'static str],
    flags: &'static [u8],
    secrets: &'static [Secret],
) -> Program {
    Program {
        names,
        flags,
        secrets,
    }
}

const PROGRAMS: &[Program] = &[
    program(
        &["curl"],
        b"#012346BGIJLNORSVZafgijklnpqsv",
        &[
            secret(b"uU", &["--user", "--proxy-user"], Hides::Behind(b':')),
            secret(b"E", &["--cert", "--proxy-cert"], Hides::Behind(b':')),
            secret(b"b", &["--cookie"], Hides::Assigned),
            secret(b"", &["--oauth2-bearer"], Hides::All),
        ],
    ),
    program(
        &[
            "mysql",
            "mysqladmin",
            "mysqlbinlog",
            "mysqlcheck",
            "mysqldump",
            "mysqlimport",
            "mysqlpump",
            "mysqlsh",
            "mysqlshow",
            "mysqlslap",
            "mariadb",
            "mariadb-admin",
            "mariadb-binlog",
            "mariadb-check",
            "mariadb-dump",
            "mariadb-import",
            "mariadb-show",
            "mariadb-slap",
        ],
        b"ABCGHNXbfnstv",
        &[attached(b"p")],
    ),
    program(
        &["openssl"],
        b"",
        &[
            secret(b"", &["-k", "-K", "-hmac", "-psk"], Hides::All),
            secret(b"", &["-macopt"], Hides::Behind(b':')),
        ],
    ),
    program(
        &["redis-cli", "valkey-cli"],
        b"",
        &[secret(b"", &["-a"], Hides::All)],
    ),
    program(
        &[
            "mongo",
            "mongodump",
            "mongoexport",
            "mongoimport",
            "mongorestore",
            "mongosh",
        ],
        b"",
        &[secret(b"p", &[], Hides::All)],
    ),
    program(&["sqlcmd", "bcp"], b"", &[secret(b"P", &[], Hides::All)]),
    program(
        &[
            "ldapadd",
            "ldapcompare",
            "ldapdelete",
            "ldapmodify",
            "ldapmodrdn",
            "ldapsearch",
            "ldapwhoami",
        ],
        b"CLMNQZcnvx",
        &[secret(b"w", &[], Hides::All)],
    ),
    program(
        &["ldappasswd"],
        b"CMNQZnvx",
        &[secret(b"asw", &[], Hides::All)],
    ),
    program(&["sshpass"], b"ev", &[secret(b"p", &[], Hides::All)]),
    program(
        &["useradd", "usermod"],
        b"",
        &[secret(b"p", &[], Hides::All)],
    ),
    program(
        &["zip", "unzip"],
        b"0123456789CDFLTXajmnoqruvxy",
        &[secret(b"P", &[], Hides::All)],
    ),
    program(&["7z", "7za", "7zr", "7zz"], b"", &[attached(b"p")]),
    program(&["ipmitool"], b"acv", &[secret(b"Pky", &[], Hides::All)]),
    program(
        &[
            "bmc-info",
            "ipmi-chassis",
            "ipmi-fru",
            "ipmi-raw",
            "ipmi-sel",
            "ipmi-sensors",
            "ipmiconsole",
            "ipmipower",
        ],
        b"",
        &[secret(b"pk", &[], Hides::All)],
    ),
    program(
        &["rpcclient", "smbclient", "smbget"],
        b"Nkq",
        &[secret(b"U", &["--user"], Hides::Behind(b'%'))],
    ),
    program(
        &["lftp"],
        b"",
        &[secret(b"u", &["--user"], Hides::Behind(b','))],
    ),
    program(
        &[
            "snmpbulkget",
            "snmpbulkwalk",
            "snmpget",
            "snmpgetnext",
            "snmpset",
            "snmptable",
            "snmptrap",
            "snmpwalk",
        ],
        b"",
        &[secret(b"AXc", &[], Hides::All)],
    ),
    // What executes these has options of its own, which are not theirs.
    program(&["rsync", "scp", "sftp", "ssh"], b"", &[]),
];

impl Program {
    /// The program of this name, or at this path.
    pub(super) fn of(word: &[u8]) -> Option<&'static Self> {
        let name = word.rsplit(|byte| *byte == b'/').next()?;
        PROGRAMS
            .iter()
            .find(|program| program.names.iter().any(|own| own.as_bytes() == name))
    }

    /// Where in a word the secret value of an option begins: at its end if that is in the next one.
    pub(super) fn value(&self, word: &[u8]) -> Option<(&'static Secret, usize)> {
        let letters = word.strip_prefix(b"-")?;
        let end = word.iter().position(|byte| *byte == b'=');
        let name = word.get(..end.unwrap_or(word.len()))?;
        let is_own = |own: &&str| own.as_bytes() == name;
        let mut secrets = self.secrets.iter();
        if let Some(secret) = secrets.find(|secret| secret.options.iter().any(is_own)) {
            return Some((secret, end.map_or(word.len(), |end| end + 1)));
        }
        let is_flag = |letter: &&u8| self.flags.contains(letter);
        let flags = letters.iter().take_while(is_flag).count();
        let letter = letters.get(flags)?;
        let mut secrets = self.secrets.iter();
        let secret = secrets.find(|secret| secret.letters.contains(letter))?;
        Some((secret, flags + 2))
    }
}

impl Hides {
    /// What is kept of a value.
    pub(super) fn of(self, value: &[u8]) -> Vec<u8> {
        let behind = |sign: u8| {
            let sign = value.iter().position(|byte| *byte == sign);
            sign.map_or(value.len(), |sign| sign + 1)
        };
        let open = match self {
            Self::All => 0,
            Self::Behind(sign) => behind(sign),
            Self::Assigned if value.contains(&b'=') => 0,
            Self::Assigned => value.len(),
        };
        let (open, secret) = value.split_at(open);
        match secret.is_empty() {
            true => open.to_vec(),
            false => [open, HIDDEN].concat(),
        }
    }
}
