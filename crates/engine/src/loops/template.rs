//! A new loop file from a few values, quoted so that it reads back as what was asked for.
