import type Docker from 'dockerode'
import type { AgentSpec } from '../../../src/adapters/runtimes/contract/runtime.ts'

type HostConfig = Docker.ContainerInspectInfo['HostConfig']
/** A container, or the request that creates it. */
type Looked = {
  Name: string
  HostConfig: HostConfig
  Config: Pick<Docker.ContainerCreateOptions, 'User' | 'Healthcheck'> & { Env: string[] }
}
/** A path to inspect and its expected value. */
type Check = [what: string, actual: unknown, expected: unknown]

/** Returns every difference between a container and the required hardening of an agent; empty if there is none. */
export function deviations(container: Looked, spec: AgentSpec, hostCpus: number): string[] {
  const { HostConfig: host, Config: config } = container
  const checks = [...checkRights(host), ...checkLimits(host, spec, hostCpus), ...checkReach(container)]
  checks.push(['user', config.User, '10001:10001'])
  checks.push(['health check', config.Healthcheck, { Test: config.Healthcheck?.Test, ...HEALTH }])
  const secrets = Object.values(spec.secrets).filter((secret) => JSON.stringify(container).includes(secret))
  checks.push(['secrets in sight', secrets, []])
  return checks
    .filter(([, actual, expected]) => !Bun.deepEquals(actual, expected))
    .map(
      ([what, actual, expected]) =>
        `${container.Name} ${what}: ${JSON.stringify(actual)}, not ${JSON.stringify(expected)}`,
    )
}

const SECOND_NS = 1_000_000_000
const HEALTH = { Interval: 30 * SECOND_NS, Timeout: 5 * SECOND_NS, StartPeriod: 20 * SECOND_NS, Retries: 5 }

function checkRights(host: HostConfig): Check[] {
  return [
    ['privileged', host.Privileged, false],
    ['dropped capabilities', host.CapDrop, ['ALL']],
    ['added capabilities', host.CapAdd ?? [], []],
    ['security options', host.SecurityOpt, ['no-new-privileges:true']],
    ['read-only root', host.ReadonlyRootfs, true],
    ['devices', host.Devices ?? [], []],
    ['device rules', host.DeviceCgroupRules ?? [], []],
    ['host folders', host.Binds ?? [], []],
    ['volumes of others', host.VolumesFrom ?? [], []],
    [
      'mounts',
      (host.Mounts ?? []).map(({ Type, Target }) => `${Type} ${Target}`),
      ['volume /data', 'volume /run/secrets'],
    ],
    ['folders in memory', host.Tmpfs, { '/tmp': 'rw,nosuid,nodev,noexec,size=64m,mode=1777' }],
    ['process namespace', host.PidMode, ''],
    ['host name namespace', host.UTSMode, ''],
    ['memory namespace', host.IpcMode, 'private'],
    ['user namespace', host.UsernsMode, ''],
    ['kernel settings', host.Sysctls ?? {}, {}],
    ['init', host.Init, true],
  ]
}

function checkLimits(host: HostConfig, { limits }: AgentSpec, hostCpus: number): Check[] {
  const ulimits = (host.Ulimits ?? []).map(({ Name, Soft, Hard }) => `${Name} ${Soft} ${Hard}`)
  return [
    ['memory', host.Memory, limits.memoryBytes],
    ['memory with swap', host.MemorySwap, limits.memoryBytes],
    ['out-of-memory killer off', host.OomKillDisable ?? false, false],
    ['cores', host.NanoCpus, Math.round(Math.min(limits.cpus, hostCpus) * SECOND_NS)],
    ['processes', host.PidsLimit, limits.processes],
    ['limits of a process', ulimits.sort(), ['core 0 0', 'nofile 8192 8192']],
    ['log', host.LogConfig, { Type: 'json-file', Config: { 'max-size': '10m', 'max-file': '3' } }],
  ]
}

function checkReach({ HostConfig: host, Config: config }: Looked): Check[] {
  return [
    ['network', /^stead-[a-z0-9]+-internal$/.test(host.NetworkMode ?? ''), true],
    ['all ports published', host.PublishAllPorts, false],
    ['published ports', host.PortBindings ?? {}, {}],
    ['name servers', host.Dns, ['127.0.0.1']],
    ['other names', host.ExtraHosts ?? [], []],
    ['links', host.Links ?? [], []],
    ['variables with a secret', config.Env.filter((line) => /^\w*(TOKEN|KEY)=/.test(line)), []],
  ]
}
