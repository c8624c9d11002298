//! Suspend and resume, as logind tells them; without it the engine compares clocks anyway.

use zbus::blocking::{Connection, Proxy};
use zbus::zvariant::OwnedFd;

fn logind() -> zbus::Result<Proxy<'static>> {
    Proxy::new(
        &Connection::system()?,
        "org.freedesktop.login1",
        "/org/freedesktop/login1",
        "org.freedesktop.login1.Manager",
    )
}

/// Keeps the machine awake while it lives.
#[derive(Debug)]
pub struct KeepAwake {
    _lock: OwnedFd,
}

impl KeepAwake {
    /// Asks logind not to suspend an idle machine; a closed lid and the user's wish still do.
    ///
    /// # Errors
    /// There is no logind, or it refuses.
    pub fn hold() -> Result<KeepAwake, String> {
        let wish = ("idle:sleep", "Loopkeeper", "A run is going on", "block");
        let lock = logind().and_then(|logind| logind.call("Inhibit", &wish));
        match lock {
            Ok(lock) => Ok(KeepAwake { _lock: lock }),
            Err(error) => Err(format!("logind does not keep the machine awake: {error}")),
        }
    }
}

/// Calls `wake` after each suspend, from a thread of its own; without logind, never.
pub fn watch_sleep(wake: impl Fn() + Send + 'static) {
    let listen = move || -> zbus::Result<()> {
        for signal in logind()?.receive_signal("PrepareForSleep")? {
            let begins: bool = signal.body().deserialize()?;
            if !begins {
                wake();
            }
        }
        Ok(())
    };
    let thread = std::thread::Builder::new().name("logind".to_owned()).spawn(move || {
        if let Err(error) = listen() {
            tracing::debug!(%error, "logind does not tell of suspends");
        }
    });
    if let Err(error) = thread {
        tracing::debug!(%error, "no thread for logind");
    }
}
