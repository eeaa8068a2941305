# Put the course's environment on PATH, and make it if need be. Sourced by the other scripts, and by bash and zsh.
# COURSE_EXTRA=gpu makes the one with CUDA in place of the one for CPUs.

if [ -n "${ZSH_VERSION:-}" ]; then eval 'root=${(%):-%x}'; else root=${BASH_SOURCE[0]}; fi
root=$(CDPATH='' cd -- "$(dirname -- "$root")/.." && pwd -P)

export HOME="${HOME:-$(echo ~)}" # jobs and services may have none, and Open MPI does not start without it

"$root/scripts/setup" || return 1 # a program of its own, so that a shell that sources this stays as it is

export PATH="$root/.venv/bin:$root/.tools/bin:$PATH"
export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}" # before any other package of the name "course"
export JUPYTER_CONFIG_PATH="$root/grader${JUPYTER_CONFIG_PATH:+:$JUPYTER_CONFIG_PATH}" # where nbgrader_config.py is
export no_proxy="${no_proxy:+$no_proxy,}localhost,127.0.0.1,::1" # see course/internal/proxies.py
export PYTHONUTF8=1 # files and pipes hold UTF-8, whatever the locale
