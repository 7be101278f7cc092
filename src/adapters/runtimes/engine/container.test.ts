import { describe, expect, test } from 'bun:test'
import type Docker from 'dockerode'
import fc from 'fast-check'
import { findEngine } from '../../../../tests/harness/engines/engine.ts'
import { deviations } from '../../../../tests/harness/engines/hardened.ts'
import { roundsOf } from '../../../../tests/harness/rounds.ts'
import { randomText } from '../../../core/ids.ts'
import { type AgentImage, steadDriver } from '../contract/agent-image.ts'
import type { AgentSpec } from '../contract/runtime.ts'
import { toContainer, toDigest } from './container.ts'

const HOST_CPUS = 2
const RUNS = roundsOf('SPEC_RUNS', 1000)
const image: AgentImage = { reference: 'stead-agent:1', id: 'sha256:1', kind: 'stead', version: '1' }

/** Names with a meaning to the engine, and arbitrary names. */
const name = fc.oneof(
  fc.constantFrom('PRIVILEGED', 'HOSTCONFIG', 'BINDS', 'CAPADD', 'NETWORKMODE', 'PIDMODE', 'DOCKER_HOST', 'USER'),
  fc.stringMatching(/^[A-Z][A-Z0-9_]{0,20}$/),
)
const value = fc.oneof(
  fc.constantFrom(
    'true',
    'host',
    '/:/host',
    '/var/run/docker.sock:/var/run/docker.sock',
    'ALL',
    '0',
    '0.0.0.0:1:1',
    '"}],"Privileged":true,[{"',
  ),
  fc.string(),
)
const specs: fc.Arbitrary<AgentSpec> = fc.record({
  id: fc.stringMatching(/^[a-z0-9][a-z0-9-]{0,40}$/),
  image: fc.constant('stead-agent:1'),
  port: fc.integer({ min: 1, max: 65_535 }),
  environment: fc.dictionary(name, value),
  secrets: fc.dictionary(
    fc.constantFrom('GATEWAY_TOKEN', 'PLATFORM_TOKEN', 'TELEGRAM_TOKEN'),
    fc.stringMatching(/^secret[a-z0-9]{20}$/),
  ),
  limits: fc.record({
    memoryBytes: fc.integer({ min: 6 * 1024 ** 2, max: 2 ** 36 }),
    cpus: fc.double({ min: 0.01, max: 64, noNaN: true }),
    processes: fc.integer({ min: 1, max: 4096 }),
  }),
})

function orderOf(spec: AgentSpec, changes: { image?: string; network?: string; instance?: string } = {}) {
  const { instance = 'test', network = `stead-${instance}-internal` } = changes
  return toContainer({
    name: `stead-${instance}-${spec.id}`,
    instance,
    spec,
    image: { ...image, id: changes.image ?? image.id },
    driver: steadDriver,
    inputs: steadDriver.toInputs(spec, image),
    digest: toDigest('key', spec),
    network,
    volume: `stead-${instance}-${spec.id}-1`,
    maxCpus: HOST_CPUS,
  })
}

test(`toContainer never weakens the restrictions when given ${RUNS} random specs`, () => {
  fc.assert(
    fc.property(specs, (spec) => {
      const { name: Name = '', HostConfig = {}, ...Config } = orderOf(spec)
      const order = { Name, HostConfig, Config: { ...Config, Env: Config.Env ?? [] } }
      expect(deviations(order, spec, HOST_CPUS).filter(isNotOwnVariable)).toEqual([])
    }),
    { numRuns: RUNS },
  )
})

test('toDigest returns the same digest when only the order of values differs', () => {
  fc.assert(
    fc.property(specs, specs, (one, two) => {
      const turned = { ...one, environment: Object.fromEntries(Object.entries(one.environment).reverse()) }
      expect(toDigest('key', turned)).toBe(toDigest('key', one))
      expect(toDigest('key', one) === toDigest('key', two)).toBe(Bun.deepEquals(one, two))
      expect(toDigest('another', one)).not.toBe(toDigest('key', one))
    }),
    { numRuns: 500 },
  )
})

const found = await findEngine()
describe.skipIf(!found)('containers in an engine', () => {
  if (!found) return
  const { docker } = found

  test('have exactly the specified profile when 100 are created', async () => {
    const instance = randomText(12).toLowerCase()
    const network = await docker.createNetwork({ Name: `stead-${instance}-internal` })
    const some = fc.sample(specs, { numRuns: 100, seed: 4 }).map((spec, index) => ({ ...spec, id: `agent-${index}` }))
    const made = new Map<string, Docker.Container>()
    try {
      const waiting = [...some]
      const makeOne = async () => {
        for (let spec = waiting.shift(); spec; spec = waiting.shift()) {
          const container = await docker.createContainer(orderOf(spec, { instance, image: found.image }))
          made.set(spec.id, container)
        }
      }
      await Promise.all(Array.from({ length: 8 }, makeOne))
      const seen = await Promise.all(some.map(({ id }) => (made.get(id) ?? raise()).inspect()))
      const wrong = seen.flatMap((container, index) => deviations(container, some[index] ?? raise(), HOST_CPUS))
      expect(seen).toHaveLength(100)
      expect(wrong.filter(isNotOwnVariable)).toEqual([])
    } finally {
      await Promise.all([...made.values()].map((container) => container.remove({ force: true, v: true })))
      for (const id of made.keys()) await docker.getVolume(`stead-${instance}-${id}-1`).remove()
      await network.remove()
    }
  }, 300_000)
})

/** A plain setting may be named `MY_KEY`. */
function isNotOwnVariable(line: string): boolean {
  return !line.includes('variables with a secret')
}

function raise(): never {
  throw new Error('Nothing is there')
}
