//! The engine as a whole, in virtual time: several engines on one data folder, faults, and kills.
#![cfg(unix)]
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

mod blocked;
mod cost;
mod crash;
mod failing;
mod misfires;
mod rules;
mod running;
mod sharing;
mod waiting;
