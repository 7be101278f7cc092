# Stead as one executable in a small image:
#   docker build -t stead . && docker run -p 127.0.0.1:3000:3000 -v stead:/data stead
# `--target agent` makes the image of agents, `--target prebuilt` takes dist/stead (`bun run build`) as it is;
# scripts/compose.yaml has all of it.
ARG BASE=debian:bookworm-slim

FROM ${BASE} AS base
RUN echo 'stead:x:10001:10001::/data:/bin/false' >> /etc/passwd \
  && echo 'stead:x:10001:' >> /etc/group \
  && mkdir -m 0700 /data \
  && chown 10001:10001 /data
USER 10001:10001
WORKDIR /data
VOLUME /data
STOPSIGNAL SIGTERM

FROM base AS platform
# Agents are child processes here: the engine that runs this container is not theirs to talk to.
# SQLite's native code is unpacked to TMPDIR: with it in the volume the root may be read-only.
ENV HOST=0.0.0.0 DATA_DIR=/data HOME=/data TMPDIR=/data DEPLOYMENT_MODE=home AGENT_RUNTIME=process NODE_ENV=production
EXPOSE 3000 3001 3100
# With BUN_BE_BUN the executable runs the script and loads nothing of the service: a few milliseconds.
HEALTHCHECK --interval=30s --timeout=5s --start-period=15s --retries=3 \
  CMD BUN_BE_BUN=1 stead -e 'const { ok } = await fetch(`http://127.0.0.1:${process.env.WEB_PORT || 3000}/readyz`); process.exit(ok ? 0 : 1)'
ENTRYPOINT ["/usr/local/bin/stead"]
CMD ["serve"]

FROM platform AS prebuilt
ARG EXECUTABLE=dist/stead
COPY ${EXECUTABLE} /usr/local/bin/stead

FROM oven/bun:1.4.4-debian AS build
WORKDIR /src
COPY package.json bun.lock ./
RUN bun install --frozen-lockfile
# By name: executables in dist are for the target `prebuilt` and would be copied here as well.
COPY bunfig.toml tsconfig.json README.md ./
COPY migrations migrations
COPY scripts scripts
COPY src src
COPY web web
RUN bun run build

FROM base AS agent
ENV HOST=0.0.0.0 PORT=18789 AGENT_DIR=/data HOME=/data
EXPOSE 18789
LABEL stead.runtime=stead
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=5 CMD ["/usr/local/bin/stead", "agent", "--check"]
COPY --from=build /src/dist/stead /usr/local/bin/stead
ENTRYPOINT ["/usr/local/bin/stead", "agent"]

FROM platform
COPY --from=build /src/dist/stead /usr/local/bin/stead
