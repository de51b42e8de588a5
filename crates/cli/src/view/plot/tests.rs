//! Whole pictures, of a job whose every number is known.

use super::letters::Letters;
use super::scene::{Scene, Shape, Xy};
use super::{Form, Size, layout::Layout, picture, processes, scene, svg};
use query::job::Facts;
use query::plot::{Doing, Line, Peaks, Phase, Plot, Point, Program, Step, Totals};
use std::path::Path;

const SECOND: i64 = 1_000_000_000;
const BEGAN: i64 = 1_795_179_540 * SECOND;
const MIB: i64 = 1 << 20;
const SIZE: Size = Size {
    width: 1200,
    height: 900,
};

fn point(second: i64, mib: i64) -> Point {
    Point {
        at: BEGAN + second * SECOND,
        value: Some(mib * MIB),
    }
}

fn step(from: i64, to: i64, rate: f64) -> Step {
    Step {
        from: BEGAN + from * SECOND,
        to: BEGAN + to * SECOND,
        rate,
    }
}

/// A minute: one process holds 256 MiB, another grows to 96 MiB and is gone after 20 s.
fn job() -> Plot {
    let program = |name: &str, rss: i64, cpu: i64| Program {
        name: name.to_owned(),
        processes: 1,
        rss_max: rss * MIB,
        cpu_time: cpu * SECOND,
    };
    let phase = |from, to, doing| Phase {
        from: BEGAN + from * SECOND,
        to: BEGAN + to * SECOND,
        doing,
    };
    Plot {
        facts: Some(Facts {
            job_name: Some("a <b> & c".to_owned()),
            job_user: Some("eva".to_owned()),
            ..Facts::default()
        }),
        hosts: vec!["n1".to_owned()],
        processes: 3,
        began: BEGAN,
        from: BEGAN,
        to: BEGAN + 60 * SECOND,
        period_ns: Some(10 * SECOND),
        memory_had: Some(512 * MIB),
        cpus_had: Some(2),
        programs: vec![program("train.py", 256, 45), program("cp", 96, 2)],
        lines: vec![
            Line {
                pid: 100,
                rss: (0..=6).map(|n| point(n * 10, 256)).collect(),
                cores: vec![step(0, 30, 0.5), step(30, 60, 1.0)],
                ..Line::default()
            },
            Line {
                pid: 101,
                program: 1,
                rss: vec![point(0, 0), point(10, 48), point(20, 96)],
                cores: vec![step(0, 20, 0.1)],
                ..Line::default()
            },
        ],
        totals: totals(),
        peaks: peaks(),
        phases: vec![
            phase(0, 20, Doing::Reading),
            phase(20, 50, Doing::Computing),
            phase(50, 60, Doing::Writing),
        ],
        ..Plot::default()
    }
}

fn drawn(plot: &Plot, size: Size) -> Scene {
    scene("7", plot, size, &Letters::new())
}

fn totals() -> Totals {
    let mib = MIB as f64;
    let rss = [(0, 256), (20, 352), (30, 256), (60, 256)];
    Totals {
        rss: rss.map(|(second, mib)| point(second, mib)).to_vec(),
        held: vec![point(0, 200), point(60, 200)],
        cores: vec![step(0, 20, 0.6), step(20, 30, 0.5), step(30, 60, 1.0)],
        read: vec![step(0, 20, 8.0 * mib), step(20, 60, 0.0)],
        written: vec![step(0, 50, 0.0), step(50, 60, 4.0 * mib)],
        disk_read: vec![step(0, 10, 2.0 * mib), step(10, 60, 0.0)],
        disk_written: Vec::new(),
    }
}

fn peaks() -> Peaks {
    let mib = MIB as f64;
    Peaks {
        rss: Some(352 * MIB),
        held: Some(200 * MIB),
        cores: Some(1.0),
        cores_of_one: Some(1.0),
        read: Some(8.0 * mib),
        written: Some(4.0 * mib),
        disk_read: Some(2.0 * mib),
        disk_written: None,
    }
}

/// The lines with this name.
fn named(scene: &Scene, name: &str) -> Vec<Vec<Vec<Xy>>> {
    let shapes = scene.shapes.iter();
    let lines = shapes.filter_map(|shape| match shape {
        Shape::Lines {
            lines,
            title: Some(title),
            ..
        } if title == name => Some(lines.clone()),
        _ => None,
    });
    lines.collect()
}

/// The height of the mark with these words.
fn mark(scene: &Scene, words: &str) -> f64 {
    let font = Layout::of(scene.width, scene.height).font;
    let mut heights = scene.shapes.iter().filter_map(|shape| match shape {
        Shape::Text(text) if text.text == words => Some(text.at.1 - 0.35 * font),
        _ => None,
    });
    heights.next().unwrap_or_else(|| panic!("no {words}"))
}

/// `BLESS=1` writes it anew.
#[test]
fn the_picture_is_the_recorded_one() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/view/plot.svg");
    let text = svg::svg(&drawn(&job(), SIZE)).unwrap();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    assert!(text == std::fs::read_to_string(&path).unwrap(), "{text}");
    assert!(!text.contains("<b>"));
}

#[test]
fn so_many_bytes_are_so_high() {
    let panels = Layout::of(SIZE.width, SIZE.height).panels;
    let each = panels[1];
    let scene = drawn(&job(), SIZE);
    // In the picture of each process the largest mark is its 256 MiB.
    let lines = named(&scene, "train.py, pid 100 on n1");
    let [memory, cores] = &lines[..] else {
        panic!("{lines:?}");
    };
    let mut marks = scene.shapes.iter().filter_map(|shape| match shape {
        Shape::Text(text) if text.text == "256 MiB" => Some(text.at.1 - 0.35 * 12.0),
        _ => None,
    });
    let near = marks.find(|y| (each.top..each.bottom).contains(y)).unwrap();
    assert_eq!(memory[0].len(), 2, "a level line is two points");
    let (left, right) = (memory[0][0], memory[0][1]);
    assert!((left.1 - near).abs() < 1.0, "{left:?} {near}");
    assert_eq!((left.0, right.0), (each.left, each.right));
    // Of the largest with 6 % of headroom.
    let high = each.bottom - each.height() / 1.06;
    assert!((left.1 - high).abs() < 1e-9, "{left:?} {high}");
    let other = &named(&scene, "cp, pid 101 on n1")[0][0];
    let part = |part: f64| each.bottom - each.height() / 1.06 * part;
    let heights: Vec<_> = other.iter().map(|at| at.1).collect();
    assert_eq!(heights, [part(0.0), part(48.0 / 256.0), part(96.0 / 256.0)]);
    let third = each.left + each.width() / 3.0;
    assert!((other[2].0 - third).abs() < 1e-9, "{other:?}");
    let panel = panels[3];
    let half = panel.bottom - panel.height() / 1.06 * 0.5;
    assert!((cores[0][0].1 - half).abs() < 1e-9);
    assert!((cores[0][1].0 - f64::midpoint(panel.left, panel.right)).abs() < 1e-9);
}

#[test]
fn what_one_reading_met_can_be_seen() {
    let each = Layout::of(SIZE.width, SIZE.height).panels[1];
    let mut job = job();
    for (second, places) in [(0, (0.0, 4.0)), (30, (-2.0, 2.0)), (60, (-4.0, 0.0))] {
        job.lines[1].rss = vec![point(second, 128)];
        let line = &named(&drawn(&job, SIZE), "cp, pid 101 on n1")[0][0];
        let x = each.left + each.width() * second as f64 / 60.0;
        let y = each.bottom - each.height() / 1.06 / 2.0;
        let [from, to] = line[..] else {
            panic!("{line:?}");
        };
        let is_at = |at: Xy, x: f64| (at.0 - x).abs() < 1e-9 && (at.1 - y).abs() < 1e-9;
        assert!(
            is_at(from, x + places.0) && is_at(to, x + places.1),
            "{line:?}"
        );
    }
}

#[test]
fn what_a_job_had_is_drawn_where_it_is_near() {
    let near = drawn(&job(), SIZE);
    // 512 MiB of 352, 2 CPUs of 1.
    assert_eq!(named(&near, "what the job had").len(), 2);
    let y = named(&near, "what the job had")[0][0][0].1;
    assert!((y - mark(&near, "512 MiB")).abs() < 1.0);
    let mut far = job();
    far.memory_had = Some(1 << 40);
    assert_eq!(named(&drawn(&far, SIZE), "what the job had").len(), 1);
}

#[test]
fn both_formats_have_the_same_places() {
    let band = Layout::of(SIZE.width, SIZE.height).band;
    let bytes = picture("7", &job(), SIZE, Form::Png).unwrap();
    let decoder = png::Decoder::new(std::io::Cursor::new(bytes));
    let mut reader = decoder.read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.width, info.height), (SIZE.width, SIZE.height));
    let at = |part: f64| {
        let x = (band.left + part * band.width()) as usize;
        let y = f64::midpoint(band.top, band.bottom) as usize;
        pixels[(y * 1200 + x) * 3..][..3].to_vec()
    };
    let colors = [at(0.1), at(0.32), at(0.5), at(0.9)];
    let (reading, computing) = (vec![0, 0x72, 0xb2], vec![0, 0x9e, 0x73]);
    let writing = vec![0xe6, 0x9f, 0];
    assert_eq!(colors, [reading.clone(), reading, computing, writing]);
}

#[test]
fn thousands_are_a_density_and_stay_small() {
    let mut many = job();
    let one = many.lines[0].clone();
    many.lines = vec![one; processes::LINES_MAX];
    let images = |plot: &Plot| {
        let shapes = drawn(plot, SIZE).shapes;
        let images = shapes.into_iter().filter_map(|shape| match shape {
            Shape::Image { image, .. } => Some(image),
            _ => None,
        });
        images.collect::<Vec<_>>()
    };
    assert!(images(&many).is_empty());
    let one = many.lines[0].clone();
    many.lines = vec![one; 10_900];
    // Two panels and what their colours mean.
    assert_eq!(images(&many).len(), 4);
    let text = svg::svg(&drawn(&many, SIZE)).unwrap();
    assert!(text.len() < 100_000, "{}", text.len());
    assert!(text.contains(">10900</text>"), "the largest count");
}

#[test]
fn any_size_and_nearly_nothing_can_be_drawn() {
    let mut least = job();
    least.totals = Totals::default();
    least.peaks = Peaks::default();
    (least.facts, least.memory_had, least.cpus_had) = (None, None, None);
    (least.programs, least.phases) = (Vec::new(), Vec::new());
    least.to = least.from;
    for (width, height) in [(480, 360), (481, 2000), (3000, 360)] {
        let size = Size { width, height };
        for plot in [&job(), &least] {
            for form in [Form::Svg, Form::Png] {
                assert!(picture("7", plot, size, form).unwrap().len() > 1000);
            }
            for shape in &drawn(plot, size).shapes {
                let Shape::Lines { lines, .. } = shape else {
                    continue;
                };
                let inside = |at: &Xy| {
                    (0.0..=f64::from(width)).contains(&at.0)
                        && (0.0..=f64::from(height)).contains(&at.1)
                };
                assert!(lines.iter().flatten().all(inside), "{shape:?}");
            }
        }
    }
}
