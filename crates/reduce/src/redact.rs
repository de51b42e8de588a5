//! Secrets on command lines: what stands behind a word that says so is replaced.

/// What stands for a secret.
const HIDDEN: &[u8] = b"***";

/// An option or a variable with one of these in its name has a secret as its value.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "apikey",
    "api-key",
    "api_key",
    "credential",
    "private-key",
    "private_key",
    "access-key",
    "access_key",
];

/// The arguments of a command line, secrets in them replaced by `***`: `--password=x`,
/// `--password x`, `TOKEN=x`, `scheme://user:x@host`.
pub fn redact(arguments: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut next_is_secret = false;
    let mut out = Vec::with_capacity(arguments.len());
    for argument in arguments {
        let is_value = std::mem::take(&mut next_is_secret) && !argument.starts_with(b"-");
        if is_value {
            out.push(HIDDEN.to_vec());
            continue;
        }
        let end = argument.iter().position(|byte| *byte == b'=');
        match end {
            Some(end) if is_name(argument.get(..end).unwrap_or_default()) => {
                let name = argument.get(..=end).unwrap_or_default();
                out.push([name, HIDDEN].concat());
            }
            Some(_) => out.push(without_password(argument)),
            None => {
                next_is_secret = argument.starts_with(b"-") && is_name(argument);
                out.push(without_password(argument));
            }
        }
    }
    out
}

/// Whether a word is the name of an option or a variable that holds a secret.
fn is_name(word: &[u8]) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.".contains(byte);
    if !word.iter().all(plain) {
        return false;
    }
    let name = String::from_utf8_lossy(word).to_ascii_lowercase();
    NAMES.iter().any(|secret| name.contains(secret))
}

/// An address without the password in it.
fn without_password(argument: &[u8]) -> Vec<u8> {
    let hidden = || {
        let scheme = argument.windows(3).position(|three| three == b"://")? + 3;
        let rest = argument.get(scheme..)?;
        let stop = |byte: &u8| b"/?# ".contains(byte);
        let authority = rest.get(..rest.iter().position(stop).unwrap_or(rest.len()))?;
        let at = authority.iter().rposition(|byte| *byte == b'@')?;
        let colon = authority.get(..at)?.iter().position(|byte| *byte == b':')?;
        let (front, back) = (
            argument.get(..=scheme + colon)?,
            argument.get(scheme + at..)?,
        );
        Some([front, HIDDEN, back].concat())
    };
    hidden().unwrap_or_else(|| argument.to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> String {
        let words: Vec<_> = line.split(' ').map(str::as_bytes).collect();
        let kept = redact(&words);
        let words: Vec<_> = kept
            .iter()
            .map(|word| String::from_utf8_lossy(word))
            .collect();
        words.join(" ")
    }

    #[test]
    fn secrets_are_replaced_and_nothing_else() {
        for (line, kept) in [
            ("mysql --password=abc -u x", "mysql --password=*** -u x"),
            ("curl --token abc https://h", "curl --token *** https://h"),
            (
                "env API_KEY=abc AWS_SECRET_ACCESS_KEY=d ./a",
                "env API_KEY=*** AWS_SECRET_ACCESS_KEY=*** ./a",
            ),
            (
                "git clone https://me:pw@host/x?a=b",
                "git clone https://me:***@host/x?a=b",
            ),
            ("tool --token --verbose", "tool --token --verbose"),
            (
                "tokenize --input=a secret.txt",
                "tokenize --input=a secret.txt",
            ),
            ("cc -DTOKEN_MAX=4 a.c", "cc -DTOKEN_MAX=*** a.c"),
            ("ssh://host:22/x", "ssh://host:22/x"),
        ] {
            assert_eq!(of(line), kept);
        }
    }
}
