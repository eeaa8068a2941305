# What terminals of JupyterLab begin with: the user's own settings, and after them the course's environment.
if [ -f ~/.bashrc ]; then . ~/.bashrc; fi
source "$(dirname "${BASH_SOURCE[0]}")/environment.sh"
