# Starts an OpenClaw container, before the image's own entrypoint and as its user. Secrets arrive as files and become
# variables of this process, so that no inspection of the container shows them.
set -eu
umask 077

export_secret() { # variable, file
  [ -n "$2" ] || return 0
  value=$(cat "$2")
  export "$1=$value"
}
export_secret OPENCLAW_GATEWAY_TOKEN "${GATEWAY_TOKEN_FILE:-}"
export_secret STEAD_PLATFORM_TOKEN "${PLATFORM_TOKEN_FILE:-}"
# Under their usual names OpenClaw would turn channels on by itself, and end when it lacks their plugins.
export_secret STEAD_TELEGRAM_TOKEN "${TELEGRAM_TOKEN_FILE:-}"
export_secret STEAD_DISCORD_TOKEN "${DISCORD_TOKEN_FILE:-}"
# An owner's key of a provider that is built in, for models that the agent is told to use besides the platform's.
case "${AI_PROVIDER:-}" in
  openai) export_secret OPENAI_API_KEY "${PROVIDER_API_KEY_FILE:-}" ;;
  anthropic) export_secret ANTHROPIC_API_KEY "${PROVIDER_API_KEY_FILE:-}" ;;
  openrouter) export_secret OPENROUTER_API_KEY "${PROVIDER_API_KEY_FILE:-}" ;;
  gemini | google) export_secret GEMINI_API_KEY "${PROVIDER_API_KEY_FILE:-}" ;;
esac
unset value
# The only way out of the container. Node reads these variables when it is told to.
if [ -n "${EGRESS_PROXY:-}" ] && [ -n "${EGRESS_TOKEN_FILE:-}" ]; then
  HTTPS_PROXY="http://$AGENT_ID:$(cat "$EGRESS_TOKEN_FILE")@${EGRESS_PROXY#http://}"
  HTTP_PROXY=$HTTPS_PROXY https_proxy=$HTTPS_PROXY http_proxy=$HTTPS_PROXY
  platform=${PLATFORM_URL#*://}
  NO_PROXY="127.0.0.1,localhost,${platform%%[:/]*}" no_proxy="127.0.0.1,localhost,${platform%%[:/]*}"
  NODE_USE_ENV_PROXY=1
  export HTTPS_PROXY HTTP_PROXY https_proxy http_proxy NO_PROXY no_proxy NODE_USE_ENV_PROXY
  unset platform
fi

# The platform's settings are merged into the agent's own configuration at every start (RFC 7396). One that cannot be
# read is left for OpenClaw to refuse, until a repair is asked for: then it is set aside.
node - <<'MERGE'
const fs = require("node:fs")
const file = process.env.OPENCLAW_CONFIG_PATH
const isTable = (value) => value !== null && typeof value === "object" && !Array.isArray(value)
const merge = (target, patch) => {
  if (!isTable(patch)) return patch
  const merged = isTable(target) ? { ...target } : {}
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) delete merged[name]
    else merged[name] = merge(merged[name], value)
  }
  return merged
}
const parse = (text) => {
  if (text.trim() === "") return {}
  try {
    return JSON.parse(text)
  } catch {
    return require("/app/node_modules/json5").parse(text)
  }
}
const read = (text) => {
  try {
    return parse(text)
  } catch (error) {
    if (!fs.existsSync(`${process.env.OPENCLAW_STATE_DIR}/.repair-requested`)) throw error
    fs.writeFileSync(`${file}.unreadable`, text, { mode: 0o600 })
    return {}
  }
}
// OpenClaw does not start when a channel is configured whose plugin it neither has nor can fetch.
const find = (folder) => (fs.existsSync(folder) ? fs.readdirSync(folder) : [])
const state = process.env.OPENCLAW_STATE_DIR
const packages = [
  ...find("/app/node_modules/openclaw/dist/extensions"),
  ...find(`${state}/extensions`),
  ...find(`${state}/npm/projects`).flatMap((project) => find(`${state}/npm/projects/${project}/node_modules/@openclaw`)),
]
const hasNpm = process.env.PATH.split(":").some((folder) => fs.existsSync(`${folder}/npm`))
const settings = JSON.parse(process.env.STEAD_SETTINGS)
for (const [channel, value] of Object.entries(settings.channels)) {
  if (value === null || hasNpm || packages.includes(channel)) continue
  settings.channels[channel] = null
  console.error(`channel ${channel} is left out: its plugin is not in this image`)
}
const text = fs.existsSync(file) ? fs.readFileSync(file, "utf8") : ""
try {
  const merged = `${JSON.stringify(merge(read(text), settings), null, 2)}\n`
  if (merged !== text) {
    fs.writeFileSync(`${file}.new`, merged, { mode: 0o600 })
    fs.renameSync(`${file}.new`, file)
  }
} catch (error) {
  console.error(`settings of the platform were not merged into ${file}: ${error.message}`)
}
MERGE
unset STEAD_SETTINGS

exec /usr/local/bin/agent-entrypoint
