# The course in a container: see docs/container.md. The scripts make the environment, as they do on any other machine.

FROM debian:12-slim AS build
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates python3.11 python3-pip g++ make \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /course
COPY pyproject.toml uv.lock ./
COPY scripts scripts
RUN scripts/wheel

FROM debian:12-slim
RUN apt-get update \
    && apt-get install --yes --no-install-recommends ca-certificates python3.11 \
    && rm -rf /var/lib/apt/lists/*
# Binder chooses both.
ARG NB_USER=learner
ARG NB_UID=1000
ENV COURSE_ROOT=/home/${NB_USER}/course
RUN useradd --create-home --shell /bin/bash --uid "$NB_UID" "$NB_USER" \
    && install --directory --owner "$NB_USER" --group "$NB_USER" "$COURSE_ROOT"
USER ${NB_USER}
WORKDIR ${COURSE_ROOT}

# The environment comes before the lessons, so that an edited lesson does not make it anew.
COPY --chown=${NB_USER}:${NB_USER} pyproject.toml uv.lock ./
COPY --chown=${NB_USER}:${NB_USER} scripts scripts
COPY --chown=${NB_USER}:${NB_USER} --from=build /course/.tools .tools
COPY --chown=${NB_USER}:${NB_USER} --from=build /course/wheels wheels
RUN UV_NO_CACHE=1 scripts/setup \
    && echo 'source "$COURSE_ROOT/scripts/environment.sh"' >>~/.bashrc
COPY --chown=${NB_USER}:${NB_USER} . .

EXPOSE 8888
# Any command has the course's environment, also one of Binder's.
ENTRYPOINT ["bash", "-c", "source \"$COURSE_ROOT/scripts/environment.sh\" && exec \"$@\"", "bash"]
CMD ["scripts/lab", "--ip=0.0.0.0", "--no-browser"]
