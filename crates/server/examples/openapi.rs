//! Prints the OpenAPI document: `cargo run -p loopkeeper-server --example openapi`.

fn main() {
    print!("{}", loopkeeper_server::document());
}
