# Make the course's environment in .venv, as uv.lock says, and put it on PATH. Sourced by the other scripts.
# COURSE_EXTRA=gpu makes the one with CUDA in place of the one for CPUs.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
uv_version=0.13.8
extra=${COURSE_EXTRA:-cpu}

stop() {
    echo "Set-up: $1" >&2
    exit 1
}

[ "$(uname -sm)" = "Linux x86_64" ] ||
    stop "this is $(uname -sm), and TensorFlow, Horovod and MPI come built for Linux x86_64 only. Use such a machine, a virtual one or a container."

if [ ! -x "$root/.venv/bin/python" ] || ! cmp -s "$root/uv.lock" "$root/.venv/made-from.$extra"; then
    python= with_pip=
    mapfile -t candidates < <(type -ap python3.11 python3)
    for candidate in "${candidates[@]}"; do # an active environment may have one without pip
        "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || continue
        python=$candidate
        "$candidate" -m pip --version >/dev/null 2>&1 && with_pip=yes && break
    done
    [ -n "$python" ] ||
        stop "Python 3.11 is needed and was not found. Install it, for instance with: apt-get install python3.11, or pyenv install 3.11"
    [ -n "$with_pip" ] || [ -x "$root/.tools/bin/uv" ] ||
        stop "pip is needed and was not found. Install it, for instance with: apt-get install python3-pip"
    command -v "${CXX:-g++}" >/dev/null ||
        stop "a C++ compiler is needed, to build Horovod, and was not found. Install it, for instance with: apt-get install g++"
    echo "Set-up: making the environment in .venv (some minutes the first time, while Horovod is built)" >&2
    (
        flock 9
        [ -x "$root/.tools/bin/uv" ] || "$python" -m pip install --quiet --disable-pip-version-check \
            --root-user-action=ignore --target "$root/.tools" "uv==$uv_version" || stop "uv could not be installed with pip: see above."
        # Compiled once here, TensorFlow is imported in half the time, also where .venv cannot be written to any more.
        "$root/.tools/bin/uv" sync --compile-bytecode --quiet --project "$root" --frozen --python "$python" --extra "$extra" ||
            stop "uv could not make the environment: see above. If Horovod's build failed, 'uv cache clean horovod' and a second try rule out a stale one."
        rm -f "$root"/.venv/made-from.*
        cp "$root/uv.lock" "$root/.venv/made-from.$extra"
    ) 9>"$root/.setup.lock" || exit 1
fi

export PATH="$root/.venv/bin:$root/.tools/bin:$PATH"
export JUPYTER_CONFIG_PATH="$root/grader${JUPYTER_CONFIG_PATH:+:$JUPYTER_CONFIG_PATH}" # where nbgrader_config.py is
