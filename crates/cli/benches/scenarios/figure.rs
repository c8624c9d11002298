//! The lines that are printed.

use serde_json::{Value, json};
use std::fs;
use std::io::{Seek, SeekFrom, Write};
use std::time::Instant;

/// One figure from several values.
pub struct Figure<'a> {
    pub name: &'a str,
    pub unit: &'a str,
    pub load: &'a str,
    /// What it should be; `None` where nothing is asked for.
    pub goal: Option<f64>,
}

impl Figure<'_> {
    /// Prints the median, with the smallest and the largest value.
    pub fn print(&self, values: &[f64]) {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        self.print_as(percentile(&sorted, 50.0), &sorted);
    }

    /// Prints a value that was computed from sorted ones.
    pub fn print_as(&self, value: f64, sorted: &[f64]) {
        let mut line = json!({
            "figure": self.name, "value": round(value), "unit": self.unit, "load": self.load,
            "n": sorted.len(),
        });
        if let Some(goal) = self.goal {
            line["goal"] = json!(goal);
        }
        if sorted.len() > 1 {
            line["min"] = json!(round(sorted[0]));
            line["max"] = json!(round(sorted[sorted.len() - 1]));
        }
        println!("{line}");
    }
}

/// Returns the value below which so many percent of the sorted values lie.
pub fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let last = sorted.len().saturating_sub(1);
    let at = (last as f64 * percent / 100.0).ceil() as usize;
    sorted.get(at.min(last)).copied().unwrap_or(f64::NAN)
}

fn round(value: f64) -> f64 {
    let digits = if value.abs() < 10.0 { 100.0 } else { 10.0 };
    (value * digits).round() / digits
}

/// Measures what a closure takes, in ms.
pub fn ms(work: impl FnOnce()) -> f64 {
    let began = Instant::now();
    work();
    began.elapsed().as_secs_f64() * 1000.0
}

/// Prints what it is measured on, with what a synchronous write costs on this disk: most of a claim
/// is that.
pub fn machine() {
    let text = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = text("/proc/cpuinfo");
    let cpu = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")).unwrap_or("");
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let loads = text("/proc/loadavg");
    let busy: Option<f64> = loads.split(' ').next().and_then(|word| word.parse().ok());
    let syncs = fsyncs();
    let machine = json!({
        "cpu": cpu.trim_start_matches([' ', '\t', ':']), "cores": cores,
        "kernel": text("/proc/sys/kernel/osrelease").trim(),
        "loadAverage": busy.map_or(Value::Null, |busy| json!(busy)),
        "fsyncMs": { "median": round(percentile(&syncs, 50.0)), "p99": round(percentile(&syncs, 99.0)) },
    });
    println!("{}", json!({ "machine": machine }));
}

fn fsyncs() -> Vec<f64> {
    let mut file = tempfile::tempfile().expect("a file");
    let mut values: Vec<f64> = (0..200)
        .map(|_| {
            file.seek(SeekFrom::Start(0)).expect("sought");
            file.write_all(&[7; 4096]).expect("written");
            ms(|| file.sync_data().expect("synced"))
        })
        .collect();
    values.sort_by(f64::total_cmp);
    values
}
