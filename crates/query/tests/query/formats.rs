//! The formats of an answer.

use crate::dataset::{ask, make};

const QUESTION: &str = "SELECT pid, comm, command, exec_ns, time FROM process WHERE pid = 200";

#[test]
fn text_formats_have_every_value() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let of = |format| String::from_utf8(ask(folder.path(), QUESTION, format).unwrap()).unwrap();
    let command = r#"["sh","-c","echo 'a b'"]"#;
    assert_eq!(
        of("table"),
        format!(
            "pid  comm  command                        exec_ns  time                   \n\
             ---  ----  ------------------------  ------------  -----------------------\n\
             200  sh    {command}  970000001000  2026-11-20 12:59:31.000\n"
        )
        .replace("time                   \n", "time\n")
    );
    assert_eq!(
        of("csv"),
        format!(
            "pid,comm,command,exec_ns,time\n200,sh,\"{}\",970000001000,2026-11-20T12:59:31Z\n",
            command.replace('"', "\"\"")
        )
    );
    let object = format!(
        "{}{command}{}",
        r#"{"pid":200,"comm":"sh","command":"#,
        r#","exec_ns":970000001000,"time":"2026-11-20T12:59:31Z"}"#
    );
    assert_eq!(of("jsonl"), format!("{object}\n"));
    assert_eq!(of("json"), format!("[{object}]\n"));
}

#[test]
fn an_answer_without_rows_is_whole_in_each_format() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let question = "SELECT pid FROM process WHERE pid = 1";
    let of = |format| ask(folder.path(), question, format).unwrap();
    assert_eq!(of("csv"), b"pid\n");
    assert_eq!(of("table"), b"pid\n---\n");
    assert_eq!(of("json"), b"[]\n");
    assert_eq!(of("jsonl"), b"");
    assert!(of("parquet").starts_with(b"PAR1"));
    assert!(!of("arrow").is_empty());
}

#[test]
fn a_name_cannot_steer_a_screen() {
    let folder = tempfile::tempdir().unwrap();
    make(folder.path());
    let question = "SELECT chr(27) || '[2J' || chr(10) AS name";
    let text = String::from_utf8(ask(folder.path(), question, "table").unwrap()).unwrap();
    assert!(text.ends_with("\\u{1b}[2J\\n\n"), "{text:?}");
}
