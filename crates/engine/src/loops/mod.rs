//! Loops: markdown files that define tasks.
//!
//! [`parse`] reads one file, [`discover`] finds all files of a project, [`edit`], [`template`] and
//! [`trash`] change them, [`watch`] tells that something changed. A file is authoritative while it
//! exists; a malformed one blocks and shadows nothing; and nothing but `enabled` and what the user
//! saves is ever written into one.
//!
//! | what is wrong | what becomes of the loop |
//! |---|---|
//! | the header cannot be read, a required key is missing, schedule or zone are wrong | malformed: no definition, its task stays as it last was |
//! | `run_on`, `only_in` or `budget` cannot be read | malformed: it would run where, or more often than, it must not |
//! | another `policy` value is wrong | the value is dropped, the settings decide |
//! | `enabled` is not a boolean | it is off |
//! | the file cannot be read | malformed, tried again at each look |
//! | the folder cannot be listed | all its tasks stay |

mod check;
mod controls;
mod diagnostic;
pub mod discover;
pub mod edit;
mod fields;
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
