//! SQL and ready-made reports over a dataset (docs/query.md).
//!
//! The tables are those of the folder: Parquet files, and the live segments that are not compacted
//! yet. The engine is DataFusion; its build weight stops here. Each report is text that DuckDB and
//! Spark understand as well, so what is asked here of one machine can be asked there of many.

mod column;
pub mod elsewhere;
mod engine;
mod error;
mod fold;
pub mod job;
mod live;
mod met;
mod output;
pub mod past;
mod place;
pub mod plot;
mod progress;
mod prune;
mod report;
mod scan;
mod schema;
mod session;
mod sorted;
mod worker;

pub use engine::{Engine, Heed, Options, Progress};
pub use error::Error;
pub use met::Met;
pub use output::{FORMATS, Format, Kind, Look, Out, Writing};
pub use place::Place;
pub use report::{Category, Dialect, Params, REPORTS, Report, by_name};
