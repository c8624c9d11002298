//! Tells that files changed in folders that matter; what changed is for the listener to find out.
