//! The routes on a real engine, in memory: what they answer, and what they refuse.

mod errors;
mod events;
mod loop_paths;
mod recorded;
mod routes;
mod setup;
