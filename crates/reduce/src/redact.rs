//! Secrets on command lines: what stands behind a word that says so is replaced.
//!
//! An argument may be a command line itself, a script, a header or JSON: words are looked for in
//! all of its text, once from its start to its end. Where it is unclear how far a secret goes, more
//! is hidden rather than less.

mod names;
mod programs;
mod scan;

use names::{is_long_option, is_name, takes_secret};
use programs::{Hides, Program};
use scan::Scan;

/// What stands for a secret.
const HIDDEN: &[u8] = b"***";

/// The arguments of a command line, secrets in them replaced by `***`, as many as before:
/// `--password=x`, `--password x`, `TOKEN=x`, `scheme://user:x@host`, `https://x@host`,
/// `Authorization: x`, `{"password":"x"}`, and of some programs options of their own
/// (`curl -u user:x`), also within the text of an argument (`sh -c '...'`).
///
/// A value in an argument of its own is all hidden, unless it looks like an option (`--verbose`).
pub fn redact(arguments: &[&[u8]]) -> Vec<Vec<u8>> {
    let (mut next, mut program) = (None, None);
    let mut out = Vec::with_capacity(arguments.len());
    for argument in arguments {
        let hides: Option<Hides> = next.take();
        if let Some(hides) = hides.filter(|_| !is_long_option(argument)) {
            out.push(hides.of(argument));
            continue;
        }
        if let Some((own, at)) = program.and_then(|own: &Program| own.value(argument)) {
            let (option, value) = argument.split_at(at.min(argument.len()));
            let takes_next = own.takes_next && value.is_empty() && !option.ends_with(b"=");
            next = takes_next.then_some(own.hides);
            out.push([option, &own.hides.of(value)].concat());
            continue;
        }
        let end = argument.iter().position(|byte| *byte == b'=');
        next = (end.is_none() && takes_secret(argument)).then_some(Hides::All);
        match end.and_then(|end| argument.get(..end)) {
            Some(name) if is_name(name) => out.push([name, b"=", HIDDEN].concat()),
            _ => out.push(Scan::new(argument, program).run()),
        }
        program = Program::of(argument).or(program);
    }
    out
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

    /// What is kept of one argument.
    fn one(argument: &str) -> String {
        let kept = redact(&[argument.as_bytes()]);
        assert_eq!(kept.len(), 1);
        String::from_utf8(kept[0].clone()).unwrap()
    }

    #[test]
    fn secrets_are_replaced_and_nothing_else() {
        for (line, kept) in [
            ("mysql --password=abc -u x", "mysql --password=*** -u x"),
            ("curl --token abc https://h", "curl --token *** https://h"),
            ("a --bearer=S --bearer T b", "a --bearer=*** --bearer *** b"),
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

    #[test]
    fn names_may_end_in_a_short_word() {
        for (line, kept) in [
            ("env MYSQL_PWD=LEAK3 a", "env MYSQL_PWD=*** a"),
            ("env DBPASS=a SSHPASS=b c", "env DBPASS=*** SSHPASS=*** c"),
            (
                "env X_PASSWD=a GPG_PASSPHRASE=b",
                "env X_PASSWD=*** GPG_PASSPHRASE=***",
            ),
            (
                "a --pwd=LEAK8 --pass=b -pwd=c",
                "a --pwd=*** --pass=*** -pwd=***",
            ),
            ("a --pwd LEAK8 --pass LEAK9 b", "a --pwd *** --pass *** b"),
            (
                "a --passphrase X --db-pass Y",
                "a --passphrase *** --db-pass ***",
            ),
        ] {
            assert_eq!(of(line), kept);
        }
    }

    #[test]
    fn what_is_no_secret_is_kept() {
        for line in [
            "env PWD=/x OLDPWD=/y a",
            "docker run --env=PWD=/x a",
            "cc --pass-through a",
            "cc --pass-through=a",
            "psql --no-password base",
            "sh -c psql\u{a0}--no-password\u{a0}base",
            "a --bypass b --compass=c",
            "a PASSTHROUGH=1 PASS_THROUGH=2",
            "a --password",
            "a --token -- b",
            "llm --tokens 5 --max-tokens=512 --max_tokens 7",
            "a --token --dry-run=x",
            "curl -H Accept:x authorization authorizations:y",
            "kube --authorization-mode=RBAC",
        ] {
            assert_eq!(of(line), line);
        }
        for text in [
            "psql --no-password base; cd $PWD; PWD=/x make",
            "a --token | b",
            "a --password; b",
            "a --token --verbose b",
            "document `--token`, and more",
            r#"{"pass_through":"x","PWD":"/x","token":null,"password":["#,
            "'--password' --verbose x",
            "a 'b c' \"d\" \\\"e\\\" \\ f\\",
            "",
        ] {
            assert_eq!(one(text), text);
        }
    }

    /// Names of files and switches were hidden before short names were: they still are.
    #[test]
    fn a_name_within_a_longer_one_counts() {
        assert_eq!(of("a --password-file=/path"), "a --password-file=***");
        assert_eq!(of("a --password-file /path"), "a --password-file ***");
        assert_eq!(of("make PASS=1"), "make PASS=***");
    }

    #[test]
    fn a_value_may_look_like_a_short_option() {
        for (line, kept) in [
            ("a --password -x b", "a --password *** b"),
            ("a --pass -----BEGIN b", "a --pass *** b"),
            ("a --password --Xk9 b", "a --password *** b"),
            ("a --password --x!y b", "a --password *** b"),
            ("a --password --token x", "a --password --token ***"),
        ] {
            assert_eq!(of(line), kept);
        }
        assert_eq!(one("a --password -x b"), "a --password *** b");
    }

    #[test]
    fn scripts_are_searched() {
        for (text, kept) in [
            (
                r#"curl --password=LEAK1 -H "Authorization: Bearer LEAK2"; :"#,
                r#"curl --password=*** -H "Authorization: ***"; :"#,
            ),
            ("a; X_TOKEN=L b", "a; X_TOKEN=*** b"),
            ("cd a\nMYSQL_PWD=L\tb", "cd a\nMYSQL_PWD=***\tb"),
            ("a --password L -x", "a --password *** -x"),
            ("a --password \\\n  L -x", "a --password \\\n  *** -x"),
            ("a --password  'L L' b", "a --password  *** b"),
            (r#"a --password="L \" L" b"#, "a --password=*** b"),
            (r"a --password='L'\''L L' b", "a --password=*** b"),
            (r"a --password=L\ L b", "a --password=*** b"),
            (r#"a --password=L"L L"L b"#, "a --password=*** b"),
            ("a '--password=L L' b", "a '--password=***' b"),
            ("a '--password='L b", "a '--password=*** b"),
            (r#"a "--password"="L L" b"#, r#"a "--password"="L L" b"#),
            ("su -c 'a --password=L' b", "su -c 'a --password=***' b"),
            (r#"su -c "a --pass 'L L'" b"#, r#"su -c "a --pass ***" b"#),
            ("grep '--password=' b", "grep '--password=' b"),
            ("a '--password' 'L L' b", "a '--password' *** b"),
            (
                r#"run(["a", "--token", "L L"])"#,
                r#"run(["a", "--token", "***"])"#,
            ),
            ("a --password 'L", "a --password ***"),
            (
                r#"["--token", "L"]; a "b --pass=L" c"#,
                r#"["--token", "***"]; a "b --pass=***" c"#,
            ),
            (
                "git clone https://a:L@b; git clone c://d:L@e",
                "git clone https://a:***@b; git clone c://d:***@e",
            ),
            (
                "wget 'https://h/?token=L&x=1' y",
                "wget 'https://h/?token=***' y",
            ),
            (
                r#"{"url":"https://h/?token=L","x":1}"#,
                r#"{"url":"https://h/?token=***","x":1}"#,
            ),
            ("--env=DB_PASSWORD=L L", "--env=DB_PASSWORD=***"),
            ("PASSWORD=L; a", "PASSWORD=***"),
        ] {
            assert_eq!(one(text), kept, "{text}");
        }
    }

    #[test]
    fn headers_are_hidden_to_the_end_of_the_text() {
        for (text, kept) in [
            ("Authorization: Bearer LEAK6", "Authorization: ***"),
            ("AUTHORIZATION:Basic L=", "AUTHORIZATION:***"),
            (
                "-HProxy-authorization: Digest a=\"L\", b='L'",
                "-HProxy-authorization: ***",
            ),
            (
                "--header=Authorization: Bearer L",
                "--header=Authorization: ***",
            ),
            (
                "curl -H 'authorization: Basic L L' x",
                "curl -H 'authorization: ***' x",
            ),
            (
                "curl '-HAuthorization: Basic L' x",
                "curl '-HAuthorization: ***' x",
            ),
            (
                r"curl -H Authorization:\ Basic\ L",
                "curl -H Authorization:***",
            ),
            (
                "it's; curl -H \"Authorization: L\" 'x'",
                "it's; curl -H \"Authorization: ***\" 'x'",
            ),
            (
                r#"b -c "c -H \"Authorization: L\" x" y"#,
                r#"b -c "c -H \"Authorization: ***\" x" y"#,
            ),
            ("Authorization: L\nx", "Authorization: ***\nx"),
            ("Authorization:", "Authorization:"),
        ] {
            assert_eq!(one(text), kept, "{text}");
        }
    }

    #[test]
    fn programs_have_options_of_their_own() {
        for (line, kept) in [
            (
                "openssl rsa -passin pass:L -passout pass:L -pass pass:L -in x",
                "openssl rsa -passin *** -passout *** -pass *** -in x",
            ),
            ("curl -u me:L:L h", "curl -u me:*** h"),
            (
                "sudo /usr/bin/curl --user me:L h",
                "sudo /usr/bin/curl --user me:*** h",
            ),
            ("curl --user=me:L h", "curl --user=me:*** h"),
            ("curl -sSume:L -U me:L h", "curl -sSume:*** -U me:*** h"),
            ("curl --proxy-user me:L h", "curl --proxy-user me:*** h"),
            ("curl --proxy-user=me:a=b h", "curl --proxy-user=me:*** h"),
            ("mysql -u me -pL=L base", "mysql -u me -p*** base"),
            ("mysql -pmysecret=L base", "mysql -p*** base"),
            (
                "docker exec x mysqldump -Bp@L a b",
                "docker exec x mysqldump -Bp*** a b",
            ),
            ("mariadb-admin -pL ping", "mariadb-admin -p*** ping"),
            ("curl -b a=L;b=L h", "curl -b *** h"),
            ("curl -sba=L h --cookie=a=L", "curl -sb*** h --cookie=***"),
            ("curl -E me.pem:L h", "curl -E me.pem:*** h"),
            (
                "curl --oauth2-bearer L --cert a.pem:L",
                "curl --oauth2-bearer *** --cert a.pem:***",
            ),
            (
                "openssl enc -aes-256-cbc -K L -iv 0 -in a",
                "openssl enc -aes-256-cbc -K *** -iv 0 -in a",
            ),
            ("openssl enc -d -k L -in a", "openssl enc -d -k *** -in a"),
            (
                "openssl dgst -hmac L -macopt hexkey:L a",
                "openssl dgst -hmac *** -macopt hexkey:*** a",
            ),
            (
                "sshpass -p L ssh -p 22 me@h",
                "sshpass -p *** ssh -p 22 me@h",
            ),
            ("sshpass -pL rsync -av a b", "sshpass -p*** rsync -av a b"),
            ("ldapsearch -xD cn=a -w L b", "ldapsearch -xD cn=a -w *** b"),
            ("zip -rP L a.zip a", "zip -rP *** a.zip a"),
            ("7z a -pL a.7z a", "7z a -p*** a.7z a"),
            (
                "ipmitool -H h -U u -PL power status",
                "ipmitool -H h -U u -P*** power status",
            ),
            ("smbclient -U me%L //h/x", "smbclient -U me%*** //h/x"),
            ("lftp -u me,L h", "lftp -u me,*** h"),
            ("redis-cli -h h -a L get x", "redis-cli -h h -a *** get x"),
            (
                "snmpwalk -v3 -u me -A L -X L h",
                "snmpwalk -v3 -u me -A *** -X *** h",
            ),
        ] {
            assert_eq!(of(line), kept);
        }
    }

    #[test]
    fn within_a_text_they_have_them_too() {
        for (text, kept) in [
            ("curl -u me:L h; ssh -p22 h", "curl -u me:*** h; ssh -p22 h"),
            ("curl -s \\\n -u me:L h", "curl -s \\\n -u me:*** h"),
            ("curl -u \"me:L L\" h", "curl -u \"me:*** h"),
            ("curl '-u' 'me:L L' h", "curl '-u' 'me:*** h"),
            ("curl '-ume:L L' h", "curl '-ume:***' h"),
            ("curl -u'me:L L' h", "curl -u'me:*** h"),
            (
                "su -c 'curl --user=me:L h' x",
                "su -c 'curl --user=me:*** h' x",
            ),
            (
                r#"["curl", "-u", "me:L L", "h"]"#,
                r#"["curl", "-u", "me:***", "h"]"#,
            ),
            (
                r#"["curl", "--user=me:L L"]"#,
                r#"["curl", "--user=me:***"]"#,
            ),
            ("cd x && mysql -p'L L' -e 'a'", "cd x && mysql -p*** -e 'a'"),
            ("/usr/bin/mysql -p$L@ base", "/usr/bin/mysql -p*** base"),
            ("it's; curl -u\"x --password=L", "it's; curl -u***"),
        ] {
            assert_eq!(one(text), kept, "{text}");
        }
    }

    #[test]
    fn what_other_programs_mean_by_the_same_options_is_kept() {
        for line in [
            "mysql -u me -p base",
            "mysql --port=3306 -P3306 -hp",
            "curl -u me h",
            "curl --user me -o a:b -H User-Agent:x h",
            "docker run -u 1000:1000 --user 1000:1000 -p80:80 x",
            "mkdir -p a:b",
            "ssh -p22 h",
            "sudo -u me -U x:y a",
            "openssl rsa -in pass:x",
            "openssl x509 -key a.pem -keyform PEM -kdf x",
            "curl -b jar.txt -c jar.txt h",
            "curl -E me.pem h",
            "7z x a.7z -p -oout",
            "redis-cli -h h get a",
            "smbclient -U me -N //h/x",
            "unzip -p a.zip P",
        ] {
            assert_eq!(of(line), line);
            assert_eq!(one(line), line);
        }
        for text in [
            "mysql -p; ls -pa",
            "mysql -u me | tr -pa b",
            "curl -u \"$USER\" h -o a:b",
        ] {
            assert_eq!(one(text), text);
        }
    }

    #[test]
    fn headers_of_several_names_are_hidden() {
        for (text, kept) in [
            ("PRIVATE-TOKEN: L", "PRIVATE-TOKEN: ***"),
            ("X-Api-Key:L", "X-Api-Key:***"),
            ("x-auth-token: L", "x-auth-token: ***"),
            ("Cookie: a=L; b=L", "Cookie: ***"),
            ("-HSet-Cookie: a=L; Path=/", "-HSet-Cookie: ***"),
            ("curl -H 'Cookie: a=L; b=L' x", "curl -H 'Cookie: ***' x"),
            (
                "curl -b 'cookies' cookie.txt",
                "curl -b 'cookies' cookie.txt",
            ),
            ("my-token:latest", "my-token:latest"),
        ] {
            assert_eq!(one(text), kept, "{text}");
        }
    }

    #[test]
    fn a_user_of_an_address_may_be_a_token() {
        for (text, kept) in [
            ("https://L@h/x?a=b", "https://***@h/x?a=b"),
            ("git clone HTTP://L@h", "git clone HTTP://***@h"),
            (
                "pip install git+https://L@h/x",
                "pip install git+https://***@h/x",
            ),
            ("'https://L:x-oauth-basic@h'", "'https://***@h'"),
            ("https://L:@h", "https://***@h"),
            ("https://me:L@h", "https://me:***@h"),
            ("ssh://git@h:22/x", "ssh://git@h:22/x"),
            ("git+ssh://git@h/x", "git+ssh://git@h/x"),
            ("postgres://me@h/x", "postgres://me@h/x"),
            ("git clone me@h:x", "git clone me@h:x"),
            ("https://h/a@b https://@h", "https://h/a@b https://@h"),
        ] {
            assert_eq!(one(text), kept, "{text}");
        }
    }

    #[test]
    fn texts_of_json_are_hidden() {
        for (text, kept) in [
            (r#"{"password":"LEAK7"}"#, r#"{"password":"***"}"#),
            (
                r#"{"a":1, "apiKey" : "L L", "b":2}"#,
                r#"{"a":1, "apiKey" : "***", "b":2}"#,
            ),
            (
                r#"{"db_pwd":"L\"L\\","b":"c"}"#,
                r#"{"db_pwd":"***","b":"c"}"#,
            ),
            (
                r#"{'Authorization': 'Bearer L'}"#,
                r#"{'Authorization': '***'}"#,
            ),
            (
                r#"curl -d '{"token":"L"}' x"#,
                r#"curl -d '{"token":"***"}' x"#,
            ),
            (
                r#"curl -d "{\"token\":\"L\\\"L\",\"b\":\"c\"}" x"#,
                r#"curl -d "{\"token\":\"***\",\"b\":\"c\"}" x"#,
            ),
            (r#"{"password":"L"#, r#"{"password":"***"#),
            (
                r#"{"password":"","token":7}"#,
                r#"{"password":"","token":7}"#,
            ),
        ] {
            assert_eq!(one(text), kept, "{text}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_stay() {
        let arguments: [&[u8]; 3] = [b"\xff --password=\xfe\xfd \xfc", b"", b"\x80TOKEN=\xff"];
        let kept: [&[u8]; 3] = [b"\xff --password=*** \xfc", b"", b"\x80TOKEN=***"];
        assert_eq!(redact(&arguments), kept);
    }

    /// Were it not linear, this would take minutes.
    #[test]
    fn long_arguments_are_read_once() {
        for part in [
            "\\",
            "\"",
            "'\\",
            "\\\"",
            "token\\\"",
            "--token ",
            "--token\\\n",
            "token=\"",
            "'token='",
            "\"token\":\"",
            "\"token\" ",
            "\\\"token\\\":\\\\\"",
            "authorization:",
            "\"authorization:",
            "a://",
            "a://b:c@",
            "a",
            "-",
            "--token --a",
            "--token \\",
            "\"token\":",
            " ",
            "token=\\",
            "curl -u ",
            "curl -u \"",
            "curl -u'\\",
            "curl \"-u\"",
            "curl -ua ",
            "mysql -p'",
            "a+://",
            "cookie:\"",
        ] {
            let text = part.repeat((1 << 20) / part.len());
            redact(&[text.as_bytes()]);
            redact(&[b"curl", text.as_bytes()]);
            redact(&[format!("--token \"token\" :{text}").as_bytes()]);
        }
    }
}
