//! The tower layers around real servers of axum and tonic.

// A test that cannot go on has failed.
#![allow(clippy::unwrap_used, clippy::panic)]

mod axum_sites;
mod grpc;
mod hang_ups;
mod hooks;
mod logged;
mod over_http;
mod previous;
mod requests;
mod routes;
