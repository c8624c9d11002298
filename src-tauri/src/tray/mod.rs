//! The tray: its menu as data ([`menu`]), what it shows ([`build`]), and how it is drawn ([`draw`]).

pub mod build;
pub mod draw;
pub mod menu;

#[cfg(test)]
mod tests;
