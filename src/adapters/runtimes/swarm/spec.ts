import type { AgentDriver, AgentImage } from '../contract/agent-image.ts'
import type { AgentKind, AgentSpec } from '../contract/runtime.ts'
import { NO_HEALTHCHECK, PROFILE, STOP_SECONDS, toLabels } from '../engine/container.ts'
import { LABELS } from '../engine/engine.ts'
import type { ServiceSpec, SwarmService } from './answers.ts'

/**
 * Desired state of an agent: `exited` replaces `running` after a configuration error, `held` waits for the next start
 * of the platform, `moving` waits for its files on another node.
 */
export type WantedService = 'running' | 'stopped' | 'exited' | 'held' | 'moving'

/** Additional labels of services, which do not change their tasks. */
const WANTED_LABEL = 'stead.wanted'
export const NODE_LABEL = 'stead.node'
export const EXIT_LABEL = 'stead.exit'

/** A file of an agent, and the secret that holds it. */
export type SecretFile = { file: string; secretId: string; secretName: string }

/** Inputs of a service. `name` is also its network's, `maxCpus` is the number of cores that every node has. */
type ServicePlan = {
  name: string
  instance: string
  digest: string
  spec: AgentSpec
  image: AgentImage
  driver: AgentDriver
  environment: Readonly<Record<string, string>>
  secrets: readonly SecretFile[]
  volume: string
  maxCpus: number
  restartDelayMs: number
  volumeDriver: VolumeDriver | null
}

/** Operators exclude a node from agents with the label `stead.agents=false`. */
export const CONSTRAINTS = ['node.platform.os==linux', 'node.labels.stead.agents!=false']
const MILLISECOND_NS = 1_000_000
const SECOND_NS = 1000 * MILLISECOND_NS

/**
 * Builds a service of one replica on its own overlay network, restricted as far as services can be. Docker before 25
 * ignores `NoNewPrivileges` for services; the missing capabilities limit what an agent could gain there.
 */
export function toServiceSpec(plan: ServicePlan): ServiceSpec {
  const { name, spec, driver } = plan
  return {
    Name: name,
    Labels: { ...toLabels(plan), [WANTED_LABEL]: 'running' },
    TaskTemplate: {
      ContainerSpec: toContainerSpec(plan),
      Resources: {
        Limits: {
          NanoCPUs: Math.round(Math.min(spec.limits.cpus, plan.maxCpus) * SECOND_NS),
          MemoryBytes: spec.limits.memoryBytes,
          Pids: spec.limits.processes,
        },
      },
      RestartPolicy: { Condition: 'any', Delay: plan.restartDelayMs * MILLISECOND_NS, MaxAttempts: 0 },
      Placement: { Constraints: [...CONSTRAINTS] },
      Networks: [{ Target: name }],
      LogDriver: { Name: PROFILE.LogConfig.Type, Options: PROFILE.LogConfig.Config },
      ForceUpdate: 1,
    },
    Mode: { Replicated: { Replicas: 1 } },
    UpdateConfig: { Parallelism: 1, FailureAction: 'continue', Order: 'stop-first' },
    EndpointSpec: {
      Mode: 'dnsrr',
      Ports: [{ Protocol: 'tcp', TargetPort: driver.port, PublishedPort: spec.port, PublishMode: 'host' }],
    },
  }
}

function toContainerSpec(plan: ServicePlan) {
  const { instance, spec, image, driver, secrets } = plan
  const [UID, GID] = driver.user.split(':')
  const Labels = { [LABELS.instance]: instance, [LABELS.agent]: spec.id }
  return {
    // By content: a name would be resolved in a registry at each start, and could differ between nodes.
    Image: image.id,
    Labels,
    ...(driver.entrypoint && { Command: [...driver.entrypoint] }),
    Env: Object.entries(plan.environment).map(([key, value]) => `${key}=${value}`),
    User: driver.user,
    Init: PROFILE.Init,
    ReadOnly: PROFILE.ReadonlyRootfs,
    CapabilityDrop: PROFILE.CapDrop,
    Ulimits: PROFILE.Ulimits,
    Privileges: { NoNewPrivileges: true },
    StopGracePeriod: STOP_SECONDS * SECOND_NS,
    Healthcheck: NO_HEALTHCHECK,
    Mounts: [
      {
        Type: 'volume',
        Source: plan.volume,
        Target: driver.stateDir,
        VolumeOptions: toVolumeOptions(plan, { agentId: spec.id, volume: plan.volume }),
      },
      ...Object.entries(driver.tmpfs).map(([path, options]) => toTmpfs(path, options)),
    ],
    Secrets: secrets.map(({ file, secretId, secretName }) => ({
      SecretID: secretId,
      SecretName: secretName,
      File: { Name: file, UID, GID, Mode: 0o400 },
    })),
  }
}

/**
 * Converts tmpfs options: services take size and mode only, and always exclude devices, programs and set-user-id
 * files.
 */
function toTmpfs(path: string, options: string) {
  const [, size = '0', unit = ''] = /(?:^|,)size=(\d+)([kmg]?)/i.exec(options) ?? []
  const [, mode] = /(?:^|,)mode=([0-7]+)/.exec(options) ?? []
  const factor = { '': 1, k: 1024, m: 1024 ** 2, g: 1024 ** 3 }[unit.toLowerCase()] ?? 1
  return {
    Type: 'tmpfs',
    Target: path,
    TmpfsOptions: { SizeBytes: Number(size) * factor, Mode: Number.parseInt(mode ?? '1777', 8) },
  }
}

/** Returns the agent's desired state. */
export function wantedOf({ Spec }: SwarmService): WantedService {
  const label = Spec.Labels[WANTED_LABEL]
  if (label === 'exited' || label === 'held' || label === 'moving') return label
  // An administrator may have scaled the service.
  return Spec.Mode.Replicated.Replicas > 0 ? 'running' : 'stopped'
}

/** Returns whether the service was scaled past the platform with Docker's own commands. */
export function isScaledByHand({ Spec }: SwarmService): boolean {
  return (Spec.Labels[WANTED_LABEL] === 'running') !== Spec.Mode.Replicated.Replicas > 0
}

/** Returns the spec with another desired state and 1 or 0 `replicas`. */
export function scale(spec: ServiceSpec, wanted: WantedService, replicas: number): ServiceSpec {
  return {
    ...spec,
    Labels: { ...spec.Labels, [WANTED_LABEL]: wanted },
    Mode: { Replicated: { Replicas: replicas } },
  }
}

/** Returns the spec with another generation, which makes the swarm restart it. */
export function withGeneration(spec: ServiceSpec, generation: number): ServiceSpec {
  return { ...spec, TaskTemplate: { ...spec.TaskTemplate, ForceUpdate: generation } }
}

/** Returns the spec bound to one node, or to none for null. */
export function withNode(spec: ServiceSpec, nodeId: string | null): ServiceSpec {
  const { [NODE_LABEL]: before, ...Labels } = spec.Labels
  const others = (spec.TaskTemplate.Placement.Constraints ?? []).filter((one) => one !== `node.id==${before}`)
  const Constraints = nodeId === null ? others : [...others, `node.id==${nodeId}`]
  return {
    ...spec,
    Labels: nodeId === null ? Labels : { ...Labels, [NODE_LABEL]: nodeId },
    TaskTemplate: { ...spec.TaskTemplate, Placement: { ...spec.TaskTemplate.Placement, Constraints } },
  }
}

/** Returns the spec with volume `to` instead of `from`. */
export function withVolume(spec: ServiceSpec, from: string, to: string): ServiceSpec {
  const { ContainerSpec } = spec.TaskTemplate
  const Mounts = ContainerSpec.Mounts.map((mount) => (mount.Source === from ? { ...mount, Source: to } : mount))
  return { ...spec, TaskTemplate: { ...spec.TaskTemplate, ContainerSpec: { ...ContainerSpec, Mounts } } }
}

/** Returns the program that a service runs, according to its label. */
export function driverOfService(
  { drivers }: { drivers: Readonly<Record<AgentKind, AgentDriver>> },
  service: SwarmService,
): AgentDriver {
  return drivers[service.Spec.Labels[LABELS.kind] === 'openclaw' ? 'openclaw' : 'stead']
}

/** How engines create the volumes of agents; `{volume}` in an option is the name of the volume. */
export type VolumeDriver = { name: string; options: Readonly<Record<string, string>> }

/** Returns how engines create the volume of an agent. */
export function toVolumeOptions(
  { instance, volumeDriver }: { instance: string; volumeDriver: VolumeDriver | null },
  { agentId, volume }: { agentId: string; volume: string },
) {
  const Labels = { [LABELS.instance]: instance, [LABELS.agent]: agentId }
  const { name: Name, options } = volumeDriver ?? { name: 'local', options: {} }
  const Options = Object.fromEntries(
    Object.entries(options).map(([key, value]) => [key, value.replaceAll('{volume}', volume)]),
  )
  return { NoCopy: false, Labels, DriverConfig: { Name, Options } }
}

/** Returns the ids of the spec's secrets. */
export function secretsOf({ TaskTemplate }: ServiceSpec): Set<string> {
  return new Set(TaskTemplate.ContainerSpec.Secrets.map(({ SecretID }) => SecretID))
}
