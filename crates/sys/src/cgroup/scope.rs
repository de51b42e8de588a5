//! A scope of systemd for the task: a delegated group for a login whose own group cannot be used.
//!
//! In a login the shell and its programs share one group, so v2 gives no memory controller below
//! it. The manager of the user (of the system, for root) can make a group with all controllers: a
//! transient scope that takes the command's process in, while that waits for its exec.
//!
//! A scope is no child of the group that we started in, so one is asked for only where the task
//! escapes nothing by it and lives as long as it would have: in a login, not in a service or a job;
//! where no group on the way has a limit; below the same slice or the same user's manager; and
//! beside a session only if that manager outlives the session.

use super::control::ControlDir;
use super::dbus::{self, Method, Writer};
use super::delegate::HandDown;
use super::error::Error;
use super::group::{Group, Part};
use super::owner::Owner;
use super::places::{Place, Places};
use super::sweep;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, Instant};

/// The pause between two looks whether the process was moved.
const PAUSE: Duration = Duration::from_millis(1);
/// Files of a group above us that hold the task; each reads as `max`, or is empty, without a limit.
const LIMITS: [&str; 5] = [
    "memory.max",
    "memory.high",
    "memory.swap.max",
    "cpu.max",
    "cpuset.cpus",
];

const START: Method = Method {
    path: "/org/freedesktop/systemd1",
    interface: "org.freedesktop.systemd1.Manager",
    name: "StartTransientUnit",
    signature: "ssa(sv)a(sa(sv))",
};

/// Whom to ask for a scope.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Ask {
    socket: PathBuf,
    /// The slice that the scope belongs to; the manager's choice otherwise.
    slice: Option<String>,
    /// How many of our group and those above it, ours first, the task leaves.
    leaves: usize,
}

/// Whom to ask, for a process of `uid` in the group `path` below the top of the hierarchy.
/// `lingers`: the user's manager goes on without a login.
fn ask(path: &Path, uid: u32, lingers: bool) -> Result<Ask, &'static str> {
    let names: Vec<&str> = path
        .components()
        .filter_map(|part| match part {
            Component::Normal(name) => name.to_str(),
            _ => None,
        })
        .collect();
    let slice = format!("user-{uid}.slice");
    let manager = format!("user@{uid}.service");
    let of_user = PathBuf::from(format!("/run/user/{uid}/systemd/private"));
    let [first, second, inner @ ..] = names.as_slice() else {
        return Err("this is no login of systemd's");
    };
    if *first != "user.slice" || *second != slice {
        return Err("this is no login of systemd's");
    }
    match inner {
        [session] if session.starts_with("session-") && session.ends_with(".scope") => {
            if uid == 0 {
                let socket = PathBuf::from("/run/systemd/private");
                let slice = Some(slice);
                return Ok(Ask {
                    socket,
                    slice,
                    leaves: 1,
                });
            }
            if !lingers {
                return Err("the user's systemd ends with the login (loginctl enable-linger)");
            }
            Ok(Ask {
                socket: of_user,
                slice: None,
                leaves: 1,
            })
        }
        [service, below @ .., unit] if *service == manager && !unit.starts_with("run-") => {
            let is_unit = unit.ends_with(".scope") || unit.ends_with(".service");
            let leaves = below.len() + 1;
            match is_unit {
                true => Ok(Ask {
                    socket: of_user,
                    slice: None,
                    leaves,
                }),
                false => Err("the group that we started in is no unit of systemd's"),
            }
        }
        _ => Err("the group that we started in is no login of its own"),
    }
}

impl Group {
    /// Asks systemd, for at most `within`, for a scope, and makes a group with memory in that for
    /// the process `pid`, which waits for its exec. `keeper`, a process of ours, goes into the
    /// scope too, into a group beside: systemd removes a scope as soon as that is empty, and what
    /// the kernel counted with it. `lingers`: the manager of this user goes on without a login.
    /// Call it where [`Group::make`] gave no memory, and not in a job.
    ///
    /// # Errors
    /// Why there is none. The processes may then be in a scope all the same, which changes nothing
    /// for them.
    pub fn in_scope(
        places: &Places,
        hint: &str,
        pid: u32,
        keeper: u32,
        lingers: bool,
        within: Duration,
    ) -> Result<Self, Error> {
        let deadline = Instant::now() + within;
        let missing = Error::NotMounted("no control groups of version 2");
        let place = places.v2.as_ref().ok_or(missing)?;
        // SAFETY: takes no argument and cannot fail.
        let uid = unsafe { libc::geteuid() };
        let refused = |what| Error::NoPermission {
            path: place.dir.path().to_owned(),
            what,
        };
        let path = place.dir.path().strip_prefix(&place.top);
        let path = path.map_err(|_| refused("the group lies outside of its mount"))?;
        let ask = ask(path, uid, lingers).map_err(refused)?;
        if place.upwards().take(ask.leaves).any(|dir| is_limited(&dir)) {
            return Err(refused(
                "the group that we started in has limits of its own",
            ));
        }
        let name = Owner::current()?.name(hint);
        let unit = format!("{name}.scope");
        let io = |source| Error::Io {
            path: ask.socket.clone(),
            source,
        };
        let body = request(&unit, [pid, keeper], ask.slice.as_deref());
        dbus::call(&ask.socket, &START, &body, deadline).map_err(io)?;
        let moved = [pid, keeper].map(|pid| moved_to(&unit, pid, deadline));
        let [Some(scope), Some(_)] = moved else {
            return Err(io(std::io::ErrorKind::TimedOut.into()));
        };
        sweep_beside(&scope);
        Self::in_delegated(&scope, &name, pid, keeper)
    }

    /// A group called `name` with the process `pid` in it, below a group that was handed to us and
    /// holds nobody but `pid` and `keeper`.
    fn in_delegated(home: &Place, name: &str, pid: u32, keeper: u32) -> Result<Self, Error> {
        let part = Part::make(None, home, name)?;
        part.dir.add(pid)?;
        let hand_down = HandDown::memory(&home.dir, &format!("{name}-self"), &[keeper])?;
        let has_memory = part.has_memory();
        let group = Self::of_parts(vec![part], hand_down);
        match has_memory {
            true => Ok(group),
            false => Err(group.no_memory()),
        }
    }
}

/// The arguments of the call.
fn request(unit: &str, pids: [u32; 2], slice: Option<&str>) -> Writer {
    let mut body = Writer::default();
    body.string(unit);
    body.string("fail");
    body.list(|properties| {
        let property = |all: &mut Writer, name: &str, signature: &str| {
            all.structure();
            all.string(name);
            all.variant(signature);
        };
        property(properties, "Description", "s");
        properties.string("a task of plimsoll run");
        property(properties, "PIDs", "au");
        properties.number(8); // bytes of the list
        pids.into_iter().for_each(|pid| properties.number(pid));
        property(properties, "Delegate", "b");
        properties.number(1);
        property(properties, "CollectMode", "s");
        properties.string("inactive-or-failed");
        if let Some(slice) = slice {
            property(properties, "Slice", "s");
            properties.string(slice);
        }
    });
    body.list(|_| {});
    body
}

/// The scope, once the process is in it.
fn moved_to(unit: &str, pid: u32, deadline: Instant) -> Option<Place> {
    loop {
        let place = Places::of(pid).ok()?.v2?;
        if place
            .dir
            .path()
            .file_name()
            .is_some_and(|name| name == unit)
        {
            return Some(place);
        }
        if Instant::now() >= deadline {
            return None;
        }
        std::thread::sleep(PAUSE);
    }
}

/// Removes the groups that dead monitors left in scopes beside this one: what is left of a task
/// goes on in its scope, free of the limit.
fn sweep_beside(scope: &Place) {
    let beside = scope.dir.path().parent().map(ControlDir::new);
    for dir in beside.iter().flat_map(ControlDir::children) {
        if dir.path() != scope.dir.path() && Owner::of_scope(dir.path()) {
            sweep::sweep_scope(&dir);
        }
    }
}

fn is_limited(dir: &ControlDir) -> bool {
    LIMITS.iter().any(|file| {
        // A controller that is not enabled has no file and no limit.
        let text = dir.read(file).unwrap_or_default();
        let first = text.split_ascii_whitespace().next();
        first.is_some_and(|word| word != "max")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(path: &str, uid: u32, lingers: bool) -> Option<(String, Option<String>, usize)> {
        let ask = ask(Path::new(path), uid, lingers).ok()?;
        let socket = ask.socket.to_str()?.to_owned();
        Some((socket, ask.slice, ask.leaves))
    }

    #[test]
    fn a_login_may_ask_the_manager_that_outlives_it() {
        let of_user = "/run/user/1000/systemd/private".to_owned();
        let session = "user.slice/user-1000.slice/session-2.scope";
        assert_eq!(asked(session, 1000, false), None);
        assert_eq!(asked(session, 1000, true), Some((of_user.clone(), None, 1)));
        let terminal = "user.slice/user-1000.slice/user@1000.service/app.slice/x-1.scope";
        assert_eq!(asked(terminal, 1000, false), Some((of_user, None, 2)));
        let root = asked("user.slice/user-0.slice/session-1.scope", 0, false);
        let slice = Some("user-0.slice".to_owned());
        assert_eq!(root, Some(("/run/systemd/private".to_owned(), slice, 1)));
    }

    #[test]
    fn jobs_services_and_others_stay_where_they_are() {
        for path in [
            "",
            "system.slice/slurmstepd.scope/job_7/step_0/user/task_0",
            "system.slice/cron.service",
            "user.slice/user-1001.slice/session-2.scope",
            "user.slice/user-1000.slice/session-2.scope/inner",
            "user.slice/user-1000.slice/user@1000.service/app.slice/run-r1.scope",
            "user.slice/user-1000.slice/user@1000.service/app.slice/x.scope/inner",
            "user.slice/user-1000.slice/user@1000.service",
            "kubepods.slice/pod.slice/cri-containerd-1.scope",
        ] {
            assert_eq!(asked(path, 1000, true), None, "{path}");
        }
    }

    #[test]
    fn a_limit_on_the_way_is_seen() {
        let path = std::env::temp_dir().join(format!("plimsoll-scope-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        let dir = ControlDir::new(&path);
        let set = |file: &str, text: &str| std::fs::write(path.join(file), text).unwrap();
        assert!(!is_limited(&dir));
        set("memory.max", "max\n");
        set("cpu.max", "max 100000\n");
        set("cpuset.cpus", "\n");
        assert!(!is_limited(&dir));
        set("cpu.max", "50000 100000\n");
        assert!(is_limited(&dir));
        std::fs::remove_dir_all(&path).unwrap();
    }
}
