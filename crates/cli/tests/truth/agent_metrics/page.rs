//! A page as a client gets it.

use crate::harness::expect::slowness;
use crate::harness::process::wait_until;
use crate::harness::run::Running;
use std::collections::BTreeMap;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

#[path = "../../../../store/tests/readers/environment.rs"]
mod environment;

/// Where an agent answers.
pub(super) struct At(pub(super) String);

/// What one page says.
#[derive(Debug, Default)]
pub(super) struct Page {
    pub(super) head: String,
    text: String,
    values: BTreeMap<String, f64>,
}

impl At {
    #[track_caller]
    pub(super) fn of(agent: &Running) -> Self {
        let file = agent.folder().join("stderr");
        let find = || {
            let told = fs::read_to_string(&file).unwrap();
            let at = told.split("metrics: http://").nth(1)?;
            Some(at.split('/').next()?.to_owned())
        };
        wait_until("the agent answers", || find().is_some());
        Self(find().unwrap())
    }

    pub(super) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.0).unwrap();
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .unwrap();
        stream
    }

    /// The whole answer to these bytes.
    pub(super) fn ask(&self, request: &[u8]) -> String {
        let mut stream = self.connect();
        // The answer may come before all of it is sent.
        let _ = stream.write_all(request);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        String::from_utf8(bytes).unwrap()
    }

    #[track_caller]
    pub(super) fn page(&self) -> Page {
        self.page_as("application/openmetrics-text; version=1.0.0")
    }

    #[track_caller]
    pub(super) fn page_as(&self, accept: &str) -> Page {
        let request = format!("GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: {accept}\r\n\r\n");
        let mut answer = self.ask(request.as_bytes());
        // Nobody is waited for longer than 5 s, which an emulated machine may well take.
        for _ in 1..slowness() {
            if !answer.is_empty() {
                break;
            }
            answer = self.ask(request.as_bytes());
        }
        Page::of(&answer)
    }
}

impl Page {
    #[track_caller]
    pub(super) fn of(answer: &str) -> Self {
        let (head, text) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
        let lines = text.lines().filter(|line| !line.starts_with('#'));
        let values = lines.map(|line| {
            let (series, value) = line.rsplit_once(' ').unwrap();
            (series.to_owned(), value.parse().unwrap())
        });
        Self {
            head: head.to_owned(),
            values: values.collect(),
            text: text.to_owned(),
        }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The value of the one series with this name that has these labels.
    pub(super) fn get(&self, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
        let has = |series: &str| {
            let mut wanted = labels.iter();
            wanted.all(|(name, value)| series.contains(&format!("{name}=\"{value}\"")))
        };
        let mut found = self.of_name(name).filter(|(series, _)| has(series));
        found.next().map(|(_, value)| value)
    }

    fn of_name(&self, name: &str) -> impl Iterator<Item = (&str, f64)> {
        let found = self.values.iter().filter(move |(series, _)| {
            let own = series.split('{').next();
            own == Some(name)
        });
        found.map(|(series, value)| (series.as_str(), *value))
    }

    pub(super) fn sum(&self, name: &str) -> f64 {
        self.of_name(name).map(|(_, value)| value).sum()
    }

    pub(super) fn sum_of(&self, name: &str, kinds: &[&str]) -> f64 {
        let is_one = |series: &str| {
            let mut kinds = kinds.iter();
            kinds.any(|kind| series.contains(&format!("kind=\"{kind}\"")))
        };
        let all = self.of_name(name).filter(|(series, _)| is_one(series));
        all.map(|(_, value)| value).sum()
    }

    /// The counters of jobs, by series.
    pub(super) fn counters(&self) -> BTreeMap<String, f64> {
        let of_jobs = self
            .values
            .iter()
            .filter(|(series, _)| series.starts_with("plimsoll_job_") && series.contains("_total"));
        of_jobs
            .map(|(name, value)| (name.clone(), *value))
            .collect()
    }

    /// That the reader of OpenMetrics that Prometheus' own client has takes it, series by series.
    #[track_caller]
    pub(super) fn expect_read_by_prometheus(&self) {
        assert!(self.head.contains("openmetrics-text; version=1.0.0"));
        assert!(self.text.ends_with("# EOF\n"));
        let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/readers");
        let python = match environment::environment(&scripts) {
            Ok(python) => python,
            Err(why) => return println!("without Prometheus' reader: {why}"),
        };
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("page");
        fs::write(&file, &self.text).unwrap();
        let script = "import sys\n\
            from prometheus_client.openmetrics import parser\n\
            read = parser.text_string_to_metric_families\n\
            text = open(sys.argv[1], newline='').read()\n\
            key = lambda s: (s.name, tuple(sorted(s.labels.items())))\n\
            all = [key(s) for f in read(text) for s in f.samples]\n\
            assert len(all) == len(set(all))\n\
            print(len(all))\n";
        let done = Command::new(python)
            .args(["-c", script])
            .arg(&file)
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{said}\n{}", self.text);
        let count = String::from_utf8_lossy(&done.stdout).trim().parse();
        assert_eq!(count, Ok(self.values.len()));
    }

    /// That counters are called in the older format as they are there.
    #[track_caller]
    pub(super) fn expect_types_of_text(&self) {
        assert!(
            self.head.contains("text/plain; version=0.0.4"),
            "{}",
            self.head
        );
        let line = "# TYPE plimsoll_job_cpu_seconds_total counter";
        assert!(self.text.lines().any(|one| one == line));
        let is_new = |line: &str| line.starts_with("# EOF") || line.starts_with("# UNIT");
        assert!(!self.text.lines().any(is_new));
    }
}
