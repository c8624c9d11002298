//! Loops: markdown files that define tasks.
//!
//! [`parse`] reads one file, [`discover`] finds all files of a project, [`edit`], [`template`] and
//! [`trash`] change them, [`watch`] tells that something changed. Format and rules are the seed's,
//! see `DESIGN`: a file is authoritative while it exists, a malformed one blocks and shadows
//! nothing, and nothing but `enabled` and what the user saves is ever written into one.

mod check;
mod controls;
mod diagnostic;
pub mod discover;
pub mod edit;
mod frontmatter;
mod header;
mod lenient;
mod parse;
mod policy;
pub mod template;
mod text;
pub mod trash;
mod variables;
pub mod watch;
pub mod write;
mod yaml;

pub use diagnostic::{Diagnostic, Edit, Fix, Severity};
pub use discover::{Cache, Discovery, FolderError, LoopFile, Scope, Stamp, discover};
pub use parse::{Parsed, parse};
pub use variables::{VARIABLES, variables};

#[cfg(test)]
mod tests;
