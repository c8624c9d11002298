//! Deleted loop files, kept for a while so that a deletion can be undone.
