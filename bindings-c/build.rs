//! Names the shared library for the loader: programs ask for the ABI's number, not for a release. And
//! keeps to itself what is not its API.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    let linker = std::env::var("RUSTC_LINKER").unwrap_or_default();
    if system == "macos" {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libsluicegate.0.dylib");
    } else if system != "windows" {
        println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libsluicegate.so.0");
        // Else the linker exports the bounds of sections that dependencies collect values in. Zig does not
        // know the argument, and does not export them.
        if !linker.contains("zig") {
            println!("cargo:rustc-cdylib-link-arg=-Wl,-z,start-stop-visibility=hidden");
        }
    }
}
