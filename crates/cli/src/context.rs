//! What every command is given: the environment, the flags that hold for all, the output.

use crate::environment::Environment;
use crate::failure::{Failure, UNREACHABLE, USAGE};
use crate::output::Output;
use chrono_tz::Tz;
use loopkeeper_engine::Paths;
use loopkeeper_engine::clock::{Clock, SystemClock};
use loopkeeper_engine::engine::{Engine, EngineOptions};
use loopkeeper_engine::settings::Settings;
use std::path::Path;
use std::sync::Arc;

/// What every command is given.
#[derive(Debug, Clone)]
pub struct Context {
    /// What this process was started with.
    pub environment: Environment,
    /// The folders in force.
    pub paths: Paths,
    /// The output.
    pub out: Output,
}

impl Context {
    /// Puts the environment and the flags together.
    ///
    /// # Errors
    /// The data folder's path cannot be used.
    pub fn new(
        environment: Environment,
        data: Option<&Path>,
        opencode: Option<String>,
        json: bool,
        quiet: bool,
    ) -> Result<Context, String> {
        let mut environment = environment;
        environment.machine.opencode.flag = opencode;
        let out = Output {
            colour: environment.colour && !json,
            json,
            quiet,
            progress: environment.progress,
            zone: environment.machine.zone.parse().unwrap_or(Tz::UTC),
        };
        let paths = environment.machine.paths(data)?;
        Ok(Context { paths, environment, out })
    }

    /// Returns wall time, ms since 1970.
    pub fn now(&self) -> i64 {
        SystemClock.now_ms()
    }

    /// Reads the settings.
    ///
    /// # Errors
    /// A bad key or value, with its line.
    pub fn settings(&self) -> Result<Settings, Failure> {
        Settings::load(&self.paths.settings).map_err(|error| Failure::new(USAGE, error.to_string()))
    }

    /// Opens the engine on the data folder, without timers.
    ///
    /// # Errors
    /// The settings are wrong, or the data folder cannot be used.
    pub async fn open(&self, watch: bool) -> Result<Engine, Failure> {
        let settings = self.settings()?;
        self.open_with(settings, watch).await
    }

    /// Opens the engine with settings that were read before.
    ///
    /// # Errors
    /// The data folder cannot be used.
    pub async fn open_with(&self, settings: Settings, watch: bool) -> Result<Engine, Failure> {
        let mut opencode = self.environment.machine.opencode.clone();
        // Only what may start one asks the login shell, which can take its time.
        opencode.binaries = self.environment.machine.opencode_programs(watch).await;
        let options = EngineOptions {
            paths: self.paths.clone(),
            clock: Arc::new(SystemClock),
            settings,
            machine_zone: self.environment.machine.zone.clone(),
            host_name: self.environment.machine.host_name.clone(),
            environment: opencode,
            watch,
        };
        Engine::open(options).await.map_err(|error| {
            let failure = Failure::from(error);
            if failure.exit == USAGE { Failure { exit: UNREACHABLE, ..failure } } else { failure }
        })
    }
}
