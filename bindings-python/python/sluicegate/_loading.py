"""Loads the native part before anything else needs it, and says what to do where that fails."""


def _load() -> None:
    try:
        from . import _native as _native
    except ImportError as cause:
        import platform
        import sys

        here = f"{platform.python_implementation()} {platform.python_version()} on {sys.platform} {platform.machine()}"
        raise ImportError(
            f"sluicegate cannot load its native part for {here}: {cause}. There are wheels for CPython 3.10 and newer on Linux "
            "(x86_64, aarch64; glibc 2.17 or musl 1.2), macOS (x86_64, arm64) and Windows (x86_64). Causes and remedies: "
            "(1) the package was installed for another interpreter or on another system: install it with the pip of this one. "
            "(2) There is no wheel for this platform: install Rust (https://rustup.rs) and build it with "
            "pip install --no-binary sluicegate sluicegate",
            name=cause.name,
            path=cause.path,
        ) from cause


_load()
