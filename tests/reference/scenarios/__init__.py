"""What the vectors try: rules and calls, without answers. Each module with scenarios is a file of vectors."""

from importlib import import_module
from pkgutil import iter_modules

_MODULES = {name: import_module(f"{__name__}.{name}") for _, name, _ in iter_modules(__path__)}

FILES = {
    name: (module.DESCRIPTION, module.SCENARIOS) for name, module in _MODULES.items() if hasattr(module, "SCENARIOS")
}
