//! REST, events and the web page of Loopkeeper.
//!
//! [`router`] maps the engine's operations to HTTP, once and for all hosts: it knows no socket, so
//! the desktop calls it in memory ([`call`]). Where there is a socket, [`serve`] wraps the
//! [`Guard`] round it (token, `Host`, `Origin`), adds the page, and bounds what a client may cost.
//! [`Surroundings`] is what both programs read from the environment, in one place.

mod error;
mod events;
mod extract;
mod guard;
mod memory;
mod openapi;
mod page;
mod routes;
mod serve;
mod surroundings;

pub use error::{ApiError, ErrorBody};
pub use guard::{Guard, GuardError};
pub use memory::{call, call_matching};
pub use openapi::document;
pub use routes::router;
pub use serve::{Bound, ServeError, ServeOptions, bind, serve};
pub use surroundings::{Surroundings, path, variable};

/// The name that every answer over a socket carries in its `Server` header.
pub const SERVER_NAME: &str = concat!("loopkeeper/", env!("CARGO_PKG_VERSION"));
