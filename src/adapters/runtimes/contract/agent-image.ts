import { AppError } from '../../../core/errors.ts'
import type { AgentKind, AgentSpec } from './runtime.ts'

/** An image as the engine has it: `id` is its content, `reference` how it was asked for. `version` is by its label. */
export type AgentImage = { reference: string; id: string; kind: AgentKind; version: string | null }

/** What an agent is told: `environment` is plain, each of `files` stands in `SECRETS_DIR` and only the agent reads it. */
export type AgentInputs = { environment: Record<string, string>; files: Record<string, string> }

/**
 * What differs between the programs that agents can be, as far as containers are concerned. `stateDir` is all that outlives
 * a container; `user` is numeric, `uid:gid`; `port` is where the gateway listens inside; `tmpfs` are folders in memory by
 * their mount options, and everything else is read-only; `entrypoint` starts it instead of the image's own, null keeps that.
 */
export type AgentDriver = {
  kind: AgentKind
  stateDir: string
  user: `${number}:${number}`
  port: number
  entrypoint: readonly string[] | null
  tmpfs: Readonly<Record<string, string>>
  /** A file of this name in `stateDir` makes the program mend its state when it starts; null when it has nothing to mend. */
  repairFile: string | null
  toInputs(spec: AgentSpec, image: AgentImage): AgentInputs
}

/** The working tree of every agent, below what it stores. */
export const WORKSPACE_FOLDER = 'workspace'

/** Where every agent finds its secrets, whatever runs it. */
export const SECRETS_DIR = '/run/secrets'

const KIND_LABELS = ['stead.runtime', 'agent-platform.runtime']
const VERSION_LABELS = ['stead.runtimeVersion', 'agent-platform.runtimeVersion']

/** Which program an image holds, by its labels. @throws AppError `invalid` when they name none that we know. */
export function readImageLabels(labels: Readonly<Record<string, string>>): Pick<AgentImage, 'kind' | 'version'> {
  const find = (names: string[]) => names.map((name) => labels[name]).find((value) => value !== undefined)
  const kind = find(KIND_LABELS)
  if (kind !== 'stead' && kind !== 'openclaw') {
    throw new AppError('invalid', 'This image is no agent: it has no label stead.runtime or agent-platform.runtime')
  }
  return { kind, version: find(VERSION_LABELS) ?? null }
}

/** Each secret as a file, and the variable that names it. */
export function toSecretFiles(secrets: AgentSpec['secrets']): AgentInputs {
  const names = Object.keys(secrets)
  return {
    environment: Object.fromEntries(names.map((name) => [`${name}_FILE`, `${SECRETS_DIR}/${name}`])),
    files: { ...secrets },
  }
}

/** The built-in agent, as `stead agent-image` packs it. */
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
