"""What the vectors try: rules and calls, without answers. Each module with scenarios is a file of vectors."""

from importlib import import_module
from pkgutil import walk_packages

_MODULES = {
    name.removeprefix(f"{__name__}.").replace(".", "/"): import_module(name)
    for _, name, _ in walk_packages(__path__, f"{__name__}.")
}

FILES = {
    name: (module.DESCRIPTION, module.SCENARIOS) for name, module in _MODULES.items() if hasattr(module, "SCENARIOS")
}
