# Stead as one executable in a small image: `docker build -t stead . && docker run -p 3000:3000 -v stead:/data stead`.
FROM oven/bun:1.4.4-debian AS build
WORKDIR /src
COPY package.json bun.lock ./
RUN bun install --frozen-lockfile
COPY . .
RUN bun run build

FROM debian:bookworm-slim
RUN apt-get update \
  && apt-get install -y --no-install-recommends ca-certificates \
  && rm -rf /var/lib/apt/lists/* \
  && useradd --uid 10001 --no-create-home --shell /usr/sbin/nologin stead \
  && install -d -o stead -g stead -m 0700 /data
COPY --from=build /src/dist/stead /usr/local/bin/stead
USER 10001
WORKDIR /data
# Agents are child processes here: the engine that runs this container is not theirs to talk to.
ENV HOST=0.0.0.0 DATA_DIR=/data AGENT_RUNTIME=process NODE_ENV=production
VOLUME /data
EXPOSE 3000 3001 3100
STOPSIGNAL SIGTERM
# The executable is its own HTTP client: with BUN_BE_BUN it runs the script instead of the service.
HEALTHCHECK --interval=30s --timeout=5s --start-period=10s --retries=3 \
  CMD BUN_BE_BUN=1 stead -e 'const { ok } = await fetch(`http://127.0.0.1:${process.env.WEB_PORT || 3000}/api/health`); process.exit(ok ? 0 : 1)'
ENTRYPOINT ["stead"]
CMD ["serve"]
