import { AppError } from '../../../core/errors.ts'
import type { AgentKind, AgentSpec } from './runtime.ts'

/** An image in the engine: `id` is its content hash, `version` comes from its label. */
export type AgentImage = { reference: string; id: string; kind: AgentKind; version: string | null }

/** Inputs of an agent: plain environment variables, and secret files in `SECRETS_DIR` that only the agent reads. */
export type AgentInputs = { environment: Record<string, string>; files: Record<string, string> }

/**
 * Properties of an agent's program in a container. `stateDir` is the only persistent folder; `user` is numeric,
 * `uid:gid`; `port` is the gateway's port inside; `tmpfs` maps writable folders to mount options, everything else is
 * read-only; `entrypoint` null keeps the image's own.
 */
export type AgentDriver = {
  kind: AgentKind
  stateDir: string
  user: `${number}:${number}`
  port: number
  entrypoint: readonly string[] | null
  tmpfs: Readonly<Record<string, string>>
  /** A file in `stateDir` that makes the program repair its state at the next start; null when it has no repair. */
  repairFile: string | null
  toInputs(spec: AgentSpec, image: AgentImage): AgentInputs
}

/** The working tree of an agent, within its state. */
export const WORKSPACE_FOLDER = 'workspace'

/** The folder of secrets in every container. */
export const SECRETS_DIR = '/run/secrets'

const KIND_LABELS = ['stead.runtime', 'agent-platform.runtime']
const VERSION_LABELS = ['stead.runtimeVersion', 'agent-platform.runtimeVersion']

/** Reads program and version from an image's labels. @throws AppError `invalid` for an image that is no agent. */
export function readImageLabels(labels: Readonly<Record<string, string>>): Pick<AgentImage, 'kind' | 'version'> {
  const find = (names: string[]) => names.map((name) => labels[name]).find((value) => value !== undefined)
  const kind = find(KIND_LABELS)
  if (kind !== 'stead' && kind !== 'openclaw') {
    throw new AppError('invalid', 'This image is no agent: it has no label stead.runtime or agent-platform.runtime')
  }
  return { kind, version: find(VERSION_LABELS) ?? null }
}

/** Maps each secret to a file and the variable with its path. */
export function toSecretFiles(secrets: AgentSpec['secrets']): AgentInputs {
  const names = Object.keys(secrets)
  return {
    environment: Object.fromEntries(names.map((name) => [`${name}_FILE`, `${SECRETS_DIR}/${name}`])),
    files: { ...secrets },
  }
}

/** The built-in agent, as packed by `stead agent-image`. */
export const steadDriver: AgentDriver = {
  kind: 'stead',
  stateDir: '/data',
  user: '10001:10001',
  port: 18_789,
  entrypoint: null,
  tmpfs: { '/tmp': 'rw,nosuid,nodev,noexec,size=64m,mode=1777' },
  repairFile: null,
  toInputs(spec) {
    const secrets = toSecretFiles(spec.secrets)
    const own = {
      HOST: '0.0.0.0',
      PORT: String(this.port),
      AGENT_DIR: this.stateDir,
      HOME: this.stateDir,
      AGENT_CONFINED: 'true',
    }
    return { environment: { ...spec.environment, ...own, ...secrets.environment }, files: secrets.files }
  },
}
