//! Asks the page: whether it still answers, and whether it holds text that was not saved.

use super::{LABEL, Window, lock};
use crate::platform;
use std::sync::Mutex;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tauri::{AppHandle, Manager, WebviewWindow};
use tauri_plugin_dialog::{DialogExt as _, MessageDialogButtons, MessageDialogKind};
use tokio::time::{sleep, timeout};

/// How often the page is asked whether it still answers, and how often it may fail to.
const ASK_EVERY: Duration = Duration::from_secs(15);
const STRIKES: u32 = 2;
/// How long a page that is to be closed may think about whether it can be.
const PATIENCE: Duration = Duration::from_secs(2);
/// A browser asks the same of its pages before it closes them.
const UNSAVED: &str = "!dispatchEvent(new Event('beforeunload', { cancelable: true }))";

/// Evaluates an expression in the page; `None` when no answer comes in time.
async fn ask(window: &WebviewWindow, expression: &str, patience: Duration) -> Option<String> {
    let (told, hears) = tokio::sync::oneshot::channel();
    let told = Mutex::new(Some(told));
    let asked = window.eval_with_callback(expression, move |answer| {
        if let Some(told) = lock(&told).take() {
            let _ = told.send(answer);
        }
    });
    asked.ok()?;
    timeout(patience, hears).await.ok()?.ok()
}

/// Says whether the window may go: it holds no text that was not saved, or whoever typed it gives
/// it up. A page that does not answer has nothing to keep.
pub(super) async fn may_close(me: &Window, app: &AppHandle) -> bool {
    let Some(window) = app.get_webview_window(LABEL) else { return true };
    // One question at a time.
    let Ok(_one) = me.asking.try_lock() else { return false };
    if ask(&window, UNSAVED, PATIENCE).await.as_deref() != Some("true") {
        return true;
    }
    let _ = window.unminimize().and_then(|()| window.show()).and_then(|()| window.set_focus());
    let (told, hears) = tokio::sync::oneshot::channel();
    let (close, keep) = ("Close without saving".to_owned(), "Keep it open".to_owned());
    app.dialog()
        .message("What was typed in this window and not saved would be lost.")
        .title("Loopkeeper: text is not saved")
        .kind(MessageDialogKind::Warning)
        .buttons(MessageDialogButtons::OkCancelCustom(close, keep))
        .parent(&window)
        .show(move |closes| {
            let _ = told.send(closes);
        });
    hears.await.unwrap_or(false)
}

/// Asks the page now and then whether it answers; a page that does not is built anew where it was.
pub(super) async fn keep_answering(me: Window, window: WebviewWindow, number: u64) {
    let app = window.app_handle().clone();
    let is_gone =
        || app.get_webview_window(LABEL).is_none() || me.built.load(Ordering::Relaxed) != number;
    let mut strikes = 0;
    while strikes < STRIKES {
        sleep(ASK_EVERY).await;
        if is_gone() {
            return;
        }
        strikes = match ask(&window, "1", ASK_EVERY).await.as_deref().map(str::trim) {
            Some("1") => 0,
            // An empty answer is that of a process that is gone.
            Some(_) => STRIKES,
            None => strikes + 1,
        };
    }
    if is_gone() {
        return;
    }
    tracing::warn!("the window's page does not answer; it is built anew");
    let fragment = window.url().ok().and_then(|url| url.fragment().map(str::to_owned));
    me.note(&window);
    platform::end_pages();
    if window.destroy().is_err() {
        return;
    }
    // The label is free once the destruction came through.
    for _ in 0..100 {
        if app.get_webview_window(LABEL).is_none() {
            break;
        }
        sleep(Duration::from_millis(50)).await;
    }
    let page = match fragment {
        Some(fragment) => format!("index.html#{fragment}"),
        None => "index.html".to_owned(),
    };
    let _one = lock(&me.building);
    if app.get_webview_window(LABEL).is_some() {
        return;
    }
    if let Err(error) = me.build(&app, page) {
        tracing::error!(%error, "the window cannot be built anew");
    }
}
