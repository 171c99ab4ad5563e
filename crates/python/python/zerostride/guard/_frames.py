"""Owns whose a line is: the user's program, a library, or this package. It does not know what happens on it."""

import functools
import os
import sys
import sysconfig

PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_STANDARD = tuple({os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib")})
_INSTALLED = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))


@functools.lru_cache(maxsize=None)
def is_users(filename):
    """Whether a file is part of the user's program: not the standard library, not installed, not this package."""
    if filename.startswith("<"):
        return not filename.startswith(("<frozen", "<string", "<__array_function__", "<eval_with_key"))
    filename = os.path.abspath(filename)
    is_installed = any(folder in filename for folder in _INSTALLED)
    return not (is_installed or filename.startswith((PACKAGE, *_STANDARD)))


def users_frame(frame):
    """The innermost frame of the user's program, or None: library code that runs on its own."""
    while frame and not is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def outside(frame):
    """The innermost frame outside of this package and of torch."""
    torch = sys.modules.get("torch")
    inside = (PACKAGE, os.path.dirname(torch.__file__) + os.sep) if torch else (PACKAGE,)
    while frame.f_back and frame.f_code.co_filename.startswith(inside):
        frame = frame.f_back
    return frame


def line_of_program(frame):
    """The frame whose line a report names: the user's, or a library's where no line of the user called it."""
    return users_frame(frame) or outside(frame)
