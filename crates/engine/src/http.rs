//! How HTTP clients are made: with rustls on ring, which is a third of the size of its default.

use std::sync::Once;

/// Begins a client; everything that asks over HTTP begins here.
pub fn client() -> reqwest::ClientBuilder {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // A host that has set another one keeps it.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    reqwest::Client::builder()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_client_that_can_do_tls_is_made() {
        let client = super::client().https_only(true).build();
        assert!(client.is_ok(), "{client:?}");
    }
}
