# Check that what the set-up needs is there, and define install_uv() and uv(). Sourced by setup and wheel. They set root,
# the course's folder, and wheel, a wheel of Horovod; where that is empty, Horovod is built, which needs compilers.
uv_version=0.13.8

stop() {
    echo "Set-up: $1" >&2
    exit 1
}

[ "$(uname -sm)" = "Linux x86_64" ] ||
    stop "this is $(uname -sm), and TensorFlow, Horovod and MPI come built for Linux x86_64 only. Use such a machine, a virtual one or a container."

python='' with_pip='' missing='' packages=''
mapfile -t candidates < <(type -ap python3.11 python3)
for candidate in "${candidates[@]}"; do # an active environment may have one without pip
    "$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || continue
    python=$candidate
    "$candidate" -m pip --version >/dev/null 2>&1 && with_pip=yes && break
done
lack() { missing+=", $1" packages+=" $2"; }
[ -n "$python" ] || lack "Python 3.11 (where it has no package: pyenv install 3.11)" python3.11
[ -n "$with_pip" ] || [ -x "$root/.tools/bin/uv" ] || lack "pip" python3-pip
if [ -z "$wheel" ]; then
    read -r cxx _ <<<"${CXX:-g++}" # it may be "ccache g++"
    read -r cc _ <<<"${CC:-cc}"
    { command -v "$cxx" && command -v "$cc"; } >/dev/null || lack "a compiler for C++ and C ($cxx, $cc)" g++
    command -v make >/dev/null || lack "make" make
fi
[ -z "$missing" ] ||
    stop "needed and not found: ${missing#, }. On Debian and Ubuntu, install with: apt-get install$packages"

umask 022 # everyone who may enter the checkout may use it
unset UV_PROJECT_ENVIRONMENT VIRTUAL_ENV PIP_PREFIX PIP_TARGET # these are for other environments
export PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0 # also where pip.conf says otherwise
install_uv() { # and keep other set-ups of this checkout waiting
    exec 9>"$root/.setup.lock"
    flock 9
    [ -x "$root/.tools/bin/uv" ] || "$python" -m pip install --quiet --disable-pip-version-check \
        --root-user-action=ignore --target "$root/.tools" "uv==$uv_version" || stop "uv could not be installed with pip: see above."
}
uv() { "$root/.tools/bin/uv" "$@" --quiet --project "$root" --python "$python" || stop "uv could not make the environment. Above, its first lines name the package that failed, and the lines with 'error' say why."; }
