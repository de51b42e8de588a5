//! Whoever dies leaves the archive whole; whatever is damaged is told.

use super::*;
use std::fs;

#[test]
fn half_a_file_is_nothing_and_is_swept_later() {
    let home = tempfile::tempdir().unwrap();
    let mut archive = archive(home.path());
    add(archive.folder(), 1..11);
    let path = archive.folder().path_of(&attempt(1).id);
    let half = path.parent().unwrap().join(".abc.new");
    fs::write(&half, "{\"sch").unwrap();
    archive.refresh(now(), &|_| true).unwrap();
    assert_eq!(all(&archive, &Filter::default()), numbers(1..11));
    archive.pack(SystemTime::now(), &|_| true).unwrap();
    assert!(half.exists(), "its writer may live");
    archive
        .pack(SystemTime::now() + Duration::from_secs(90_000), &|_| true)
        .unwrap();
    assert!(!half.exists());
    assert!(archive.damaged().unwrap().is_empty());
}

/// What is in both places counts once: a death between writing and removing leaves it so.
#[test]
fn a_death_while_packing_loses_and_doubles_nothing() {
    let home = tempfile::tempdir().unwrap();
    let mut archive = archive(home.path());
    add(archive.folder(), 1..101);
    let copies: Vec<_> = (1..101)
        .map(|number| archive.folder().path_of(&attempt(number).id))
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect();
    archive.pack(now(), &|_| true).unwrap();
    for (path, text) in copies.iter().take(60) {
        fs::write(path, text).unwrap();
    }
    archive.refresh(now(), &|_| true).unwrap();
    assert_eq!(all(&archive, &Filter::default()), numbers(1..101));
    // Who asks to end in the middle, too.
    add(archive.folder(), 101..201);
    let stopped = archive.pack(now(), &|done| done < 150);
    assert!(
        matches!(stopped, Err(store::Error::Interrupted)),
        "{stopped:?}"
    );
    archive.refresh(now(), &|_| true).unwrap();
    assert_eq!(all(&archive, &Filter::default()), numbers(1..201));
    archive.pack(now(), &|_| true).unwrap();
    assert_eq!(archive.count().unwrap(), (200, 0));
}

#[test]
fn damage_is_told_and_the_rest_is_there() {
    let home = tempfile::tempdir().unwrap();
    let mut archive = archive(home.path());
    add(archive.folder(), 1..201);
    archive.pack(now(), &|_| true).unwrap();
    add(archive.folder(), 201..206);
    let pack = archive.folder().packed().join("0.parquet");
    fs::write(&pack, "PAR1 and nothing else").unwrap();
    let loose = archive.folder().path_of(&attempt(201).id);
    fs::write(&loose, "{\"schema\":").unwrap();
    // One under the name of another would be counted twice.
    let other = archive.folder().path_of(&attempt(202).id);
    let text = fs::read(archive.folder().path_of(&attempt(203).id)).unwrap();
    fs::write(&other, text).unwrap();
    archive.refresh(now(), &|_| true).unwrap();
    let there = numbers((1..201).chain(203..206));
    assert_eq!(all(&archive, &Filter::default()), there);
    let damaged = archive.damaged().unwrap();
    assert_eq!(damaged.len(), 3, "{damaged:?}");
    for path in [&pack, &loose, &other] {
        let path = path.display().to_string();
        assert!(damaged.iter().any(|one| one.path == path), "{damaged:?}");
    }
    // Packing leaves them where they are, and they are forgotten with their files.
    archive.pack(now(), &|_| true).unwrap();
    assert!(pack.exists() && loose.exists() && other.exists());
    for path in [&pack, &loose, &other] {
        fs::remove_file(path).unwrap();
    }
    archive.refresh(now(), &|_| true).unwrap();
    assert!(archive.damaged().unwrap().is_empty());
}

#[test]
fn what_is_no_regular_file_is_named_and_holds_up_nobody() {
    use rustix::fs::{CWD, Mode, mkfifoat};

    let home = tempfile::tempdir().unwrap();
    let mut archive = archive(home.path());
    add(archive.folder(), 1..9);
    archive.pack(now(), &|_| true).unwrap();
    add(archive.folder(), 9..12);
    let set = |name: &str| store::archive::Set {
        name: name.to_owned(),
        ..store::archive::Set::default()
    };
    archive.folder().describe(&set("run 1")).unwrap();
    let pipe = |path: &Path| mkfifoat(CWD, path, Mode::RUSR | Mode::WUSR).unwrap();
    let loose = archive.folder().path_of(&attempt(12).id);
    fs::create_dir_all(loose.parent().unwrap()).unwrap();
    let folder = archive.folder().path_of(&attempt(13).id);
    fs::create_dir_all(&folder).unwrap();
    let pack = archive.folder().packed().join("0.parquet");
    let said = home.path().join("sets/run.json");
    for path in [&loose, &pack, &said] {
        pipe(path);
    }
    let none = "0123456789abcdef".chars().map(|digit| format!("ee{digit}"));
    let tasks = home.path().join("tasks");
    let shard = none.map(|name| tasks.join(name)).find(|at| !at.exists());
    pipe(&shard.unwrap());
    archive.refresh(now(), &|_| true).unwrap();
    assert_eq!(all(&archive, &Filter::default()), numbers(1..12));
    let damaged = archive.damaged().unwrap();
    assert_eq!(damaged.len(), 4, "{damaged:?}");
    for path in [&loose, &folder, &pack, &said] {
        let path = path.display().to_string();
        let one = damaged.iter().find(|one| one.path == path).unwrap();
        assert!(one.why.contains("no regular file"), "{one:?}");
    }
    let names = archive.folder().sets().unwrap().into_iter();
    assert_eq!(names.map(|set| set.name).collect::<Vec<_>>(), ["run 1"]);
    assert!(archive.folder().describe(&set("run")).is_err());
    archive.pack(now(), &|_| true).unwrap();
    assert_eq!(all(&archive, &Filter::default()), numbers(1..12));

    let mark = home.path().join("archive.json");
    fs::remove_file(&mark).unwrap();
    pipe(&mark);
    for opened in [Folder::open(home.path()), Folder::create(home.path())] {
        let is_named = matches!(&opened, Err(store::Error::Read { path, .. }) if *path == mark);
        assert!(is_named, "{opened:?}");
    }
}

#[test]
fn a_folder_with_something_else_is_left_alone() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("mine"), "").unwrap();
    let made = Folder::create(home.path());
    assert!(
        matches!(made, Err(store::Error::NoArchive { .. })),
        "{made:?}"
    );
    let none = Folder::open(&home.path().join("none"));
    assert!(matches!(none, Err(store::Error::Read { .. })), "{none:?}");
    let later = home.path().join("later");
    fs::create_dir(&later).unwrap();
    fs::write(
        later.join("archive.json"),
        "{\"schema\":\"plimsoll.archive/2\"}",
    )
    .unwrap();
    let opened = Folder::create(&later);
    assert!(
        matches!(opened, Err(store::Error::Later { .. })),
        "{opened:?}"
    );
    let folder = Folder::create(&home.path().join("new")).unwrap();
    for id in [
        "",
        "../../../etc/passwd",
        "ABCDEF0123456789ABCDEF0123456789",
    ] {
        let one = Attempt {
            id: id.to_owned(),
            ..attempt(1)
        };
        let added = folder.add(&Stored::new(one, Texts::default()));
        assert!(matches!(added, Err(store::Error::Id { .. })), "{added:?}");
    }
}

#[test]
fn a_catalogue_is_a_cache() {
    let home = tempfile::tempdir().unwrap();
    let (path, cache) = (home.path().join("a"), home.path().join("c.sqlite"));
    let open = || {
        let folder = Folder::create(&path).unwrap();
        let archive = Archive::open(folder, Some(&cache)).unwrap();
        archive.refresh(now(), &|_| true).unwrap();
        archive
    };
    add(open().folder(), 1..301);
    open().pack(now(), &|_| true).unwrap();
    add(open().folder(), 301..311);
    assert_eq!(all(&open(), &Filter::default()), numbers(1..311));
    fs::write(&cache, "no database").unwrap();
    for left in ["c.sqlite-wal", "c.sqlite-shm"] {
        let _ = fs::remove_file(home.path().join(left));
    }
    assert_eq!(all(&open(), &Filter::default()), numbers(1..311));
    fs::remove_file(&cache).unwrap();
    assert_eq!(all(&open(), &Filter::default()), numbers(1..311));
}

/// A catalogue that says what is not so removes nothing, and one that is torn is made anew.
#[test]
fn nothing_is_lost_for_the_word_of_a_catalogue() {
    let home = tempfile::tempdir().unwrap();
    let (path, cache) = (home.path().join("a"), home.path().join("c.sqlite"));
    let folder = Folder::create(&path).unwrap();
    let open = || Archive::open_refreshed(&folder, Some(&cache), now(), &|_| true).unwrap();
    add(&folder, 1..101);
    open().pack(now(), &|_| true).unwrap();
    add(&folder, 101..151);
    drop(open());
    let lies = rusqlite::Connection::open(&cache).unwrap();
    let insert = "INSERT INTO packed SELECT id, (SELECT number FROM pack), 0 FROM loose";
    assert_eq!(lies.execute(insert, []).unwrap(), 50);
    drop(lies);
    assert_eq!(open().count().unwrap(), (150, 0), "it is believed");
    open().pack(now(), &|_| true).unwrap();
    fs::remove_file(&cache).unwrap();
    assert_eq!(all(&open(), &Filter::default()), numbers(1..151));
    // Every page but the first.
    drop(open());
    let mut torn = fs::read(&cache).unwrap();
    torn[4096..].fill(0xa5);
    fs::write(&cache, torn).unwrap();
    assert_eq!(all(&open(), &Filter::default()), numbers(1..151));
    // By who has it, and on the next day by others.
    assert_eq!(all(&open(), &Filter::default()), numbers(1..151));
    let kept = Archive::open(folder.clone(), Some(&cache)).unwrap();
    assert_eq!(kept.count().unwrap(), (150, 0));
}
