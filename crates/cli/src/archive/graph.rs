//! The graph of the tasks of a set: as text, as JSON, and for Graphviz.

use crate::view::rows::Row;
use crate::view::style::{Style, printable};
use record::quantity::show_time;
use reduce::graph::{Graph, Path};
use serde_json::{Value, json};
use std::fmt::Write as _;
use store::archive::Tasks;

/// Cycles, and parents that are not there, which are named in text: JSON has all.
const NAMED_MAX: usize = 10;

/// The tasks of a set with their graph.
pub(crate) struct SetGraph<'a> {
    tasks: &'a Tasks,
    names: Vec<&'a str>,
    graph: Graph,
    path: Option<Path>,
}

impl<'a> SetGraph<'a> {
    pub(crate) fn of(tasks: &'a Tasks) -> Self {
        let view = tasks.view();
        let graph = Graph::of(&view);
        Self {
            tasks,
            names: tasks.iter().map(|(name, _)| name).collect(),
            path: graph.critical_path(&view),
            graph,
        }
    }

    /// Whether each task can be done after its parents.
    pub(crate) fn is_sound(&self) -> bool {
        self.graph.cycles.is_empty() && self.graph.dangling.is_empty()
    }

    fn name(&self, place: usize) -> &'a str {
        self.names.get(place).copied().unwrap_or_default()
    }

    fn names(&self, places: &[usize]) -> Vec<&'a str> {
        places.iter().map(|place| self.name(*place)).collect()
    }

    pub(crate) fn text(&self, style: Style) -> String {
        let graph = &self.graph;
        let attempts = match self.tasks.attempts() {
            all if all == graph.tasks() as u64 => String::new(),
            all => format!(", of {all} attempts"),
        };
        let mut rows = vec![
            ("tasks", format!("{}{attempts}", graph.tasks())),
            ("edges", graph.edges().to_string()),
            ("levels", graph.levels.len().to_string()),
            ("width", format!("{} tasks", graph.width())),
        ];
        let path = match &self.path {
            None => "not known: no task says how long it took".to_owned(),
            Some(path) => {
                let at_least = match path.unknown {
                    0 => String::new(),
                    unknown => format!(" or more: {unknown} tasks do not say how long they took"),
                };
                format!(
                    "{}{at_least}, {} tasks: {}",
                    show_time(path.wall),
                    path.tasks.len(),
                    self.tasks.way(&path.tasks, false)
                )
            }
        };
        rows.push(("longest", path));
        let cycles = graph.cycles.iter().take(NAMED_MAX);
        rows.extend(cycles.map(|cycle| ("cycle", self.tasks.way(cycle, true))));
        if graph.without_level > 0 {
            let words = format!(
                "{} tasks on a cycle or behind one have no level",
                graph.without_level
            );
            rows.push(("unsorted", words));
        }
        let missing = graph.dangling.iter().take(NAMED_MAX);
        rows.extend(missing.map(|one| {
            let words = format!("{} of {}", one.parent, self.name(one.task));
            ("no parent", words)
        }));
        for (what, all) in [
            ("cycles", graph.cycles.len()),
            ("parents that are not there", graph.dangling.len()),
        ] {
            if all > NAMED_MAX {
                let words = format!("{} more {what} (--format json)", all - NAMED_MAX);
                rows.push(("and", words));
            }
        }
        let mut out = String::new();
        for (label, words) in rows {
            Row::text(label, printable(&words)).render(style, &mut out);
        }
        out
    }

    pub(crate) fn json(&self, set: &str) -> Value {
        let graph = &self.graph;
        let path = self.path.as_ref().map(|path| {
            json!({
                "wall": path.wall,
                "tasks": self.names(&path.tasks),
                "tasks_of_unknown_wall": path.unknown,
            })
        });
        let widths: Vec<usize> = graph.levels.iter().map(Vec::len).collect();
        let cycles: Vec<_> = graph.cycles.iter().map(|cycle| self.names(cycle)).collect();
        let dangling = graph.dangling.iter();
        let dangling =
            dangling.map(|one| json!({"task": self.name(one.task), "parent": one.parent}));
        json!({
            "schema": "plimsoll.archive.graph/1",
            "set": set,
            "attempts": self.tasks.attempts(),
            "tasks": graph.tasks(),
            "edges": graph.edges(),
            "levels": widths,
            "width": graph.width(),
            "critical_path": path,
            "cycles": cycles,
            "tasks_without_level": graph.without_level,
            "dangling": dangling.collect::<Vec<_>>(),
        })
    }

    /// For `dot` of Graphviz; the longest way is bold, a parent that is not there dashed.
    pub(crate) fn dot(&self) -> String {
        let path = self.path.as_ref().map_or(&[][..], |path| &path.tasks);
        let mut is_on_path = vec![false; self.names.len()];
        for place in path {
            if let Some(is_on_path) = is_on_path.get_mut(*place) {
                *is_on_path = true;
            }
        }
        let mut out = String::from("digraph tasks {\n  rankdir=LR; node [shape=box];\n");
        for ((place, (name, attempt)), is_bold) in self.tasks.iter().enumerate().zip(&is_on_path) {
            let style = if *is_bold { ", style=bold" } else { "" };
            let label = match name == attempt.category {
                true => quoted(name),
                false => quoted(&format!("{name}\n{}", attempt.category)),
            };
            // Writing to a text does not fail.
            let _ = writeln!(out, "  t{place} [label={label}{style}];");
        }
        for place in 0..self.names.len() {
            for parent in self.graph.parents(place) {
                let _ = writeln!(out, "  t{parent} -> t{place};");
            }
        }
        for one in &self.graph.dangling {
            let parent = quoted(&one.parent);
            let _ = writeln!(
                out,
                "  {parent} [style=dashed];\n  {parent} -> t{};",
                one.task
            );
        }
        out.push_str("}\n");
        out
    }
}

/// A text of Graphviz' language; what drives a terminal is replaced.
fn quoted(text: &str) -> String {
    let lines = text.split('\n').map(|line| {
        let line = printable(line);
        line.replace('\\', "\\\\").replace('"', "\\\"")
    });
    format!("\"{}\"", lines.collect::<Vec<_>>().join("\\n"))
}
