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
    missing= packages=
    lack() { missing+=", $1" packages+=" $2"; }
    [ -n "$python" ] || lack "Python 3.11 (where it has no package: pyenv install 3.11)" python3.11
    [ -n "$with_pip" ] || [ -x "$root/.tools/bin/uv" ] || lack "pip" python3-pip
    { command -v "${CXX:-g++}" && command -v "${CC:-cc}"; } >/dev/null ||
        lack "a compiler for C++ and C (${CXX:-g++}, ${CC:-cc})" g++
    command -v make >/dev/null || lack "make" make
    [ -z "$missing" ] ||
        stop "needed and not found: ${missing#, }. On Debian and Ubuntu, install with: apt-get install$packages"
    echo "Set-up: making the environment in .venv (some minutes the first time, while Horovod is built)" >&2
    (
        flock 9
        [ -x "$root/.tools/bin/uv" ] || "$python" -m pip install --quiet --disable-pip-version-check \
            --root-user-action=ignore --target "$root/.tools" "uv==$uv_version" || stop "uv could not be installed with pip: see above."
        # Compiled once here, TensorFlow is imported in half the time, also where .venv cannot be written to any more.
        "$root/.tools/bin/uv" sync --compile-bytecode --quiet --project "$root" --frozen --python "$python" --extra "$extra" ||
            stop "uv could not make the environment. Above, its first lines name the package that failed, and the lines with 'error' say why."
        rm -f "$root"/.venv/made-from.*
        cp "$root/uv.lock" "$root/.venv/made-from.$extra"
    ) 9>"$root/.setup.lock" || exit 1
fi

export PATH="$root/.venv/bin:$root/.tools/bin:$PATH"
export JUPYTER_CONFIG_PATH="$root/grader${JUPYTER_CONFIG_PATH:+:$JUPYTER_CONFIG_PATH}" # where nbgrader_config.py is
