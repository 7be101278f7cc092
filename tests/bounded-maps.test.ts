import { expect, test } from 'bun:test'
import { join } from 'node:path'
import { findLongLivedMaps } from './harness/structure/long-lived-maps.ts'

const root = join(import.meta.dir, '..')

/** Reason why each map and set is bounded, by file. */
const BOUNDS: readonly (readonly [bound: string, places: Readonly<Record<string, readonly string[]>>])[] = [
  [
    'a number in the file is the limit',
    {
      'src/adapters/tunnel/session.ts': ['streams', 'waiting'],
      'src/adapters/workspaces/links.ts': ['links'],
      'src/adapters/workspaces/server.ts': ['pieces'],
      'src/agent/channels/questions.ts': ['kept'],
      'src/core/agents/collect-turn.ts': ['generationIds'],
      'src/agent/channels/slack/slack.ts': ['names'],
      'src/db/changes.ts': ['found'],
      'src/features/agents/egress/blocks.ts': ['waiting'],
      'src/features/ai/response-cache/response-cache.ts': ['entries'],
      'src/features/ai/usage/quota.ts': ['periods'],
      'src/features/accounts/social-identity/gate.ts': ['known'],
      'src/http/hosts.ts': ['remembered'],
    },
  ],
  [
    'an entry lives as long as the request, the turn, the job or the connection that made it',
    {
      'src/adapters/gateways/openclaw-socket.ts': ['waiting'],
      'src/adapters/parsers/pool.ts': ['living'],
      'src/adapters/runtimes/contract/events.ts': ['listeners'],
      'src/adapters/traces/spans.ts': ['turns'],
      'src/adapters/workspaces/client.ts': ['downloads'],
      'src/adapters/tunnel/links.ts': ['links'],
      'src/adapters/tunnel/pipe.ts': ['sockets'],
      'src/agent/channels/conversation.ts': ['answering'],
      'src/cli/machines/log.ts': ['wakers'],
      'src/agent/commands/orphans.ts': ['running'],
      'src/agent/tools/approvals.ts': ['waiting'],
      'src/agent/turns/kept-turns.ts': ['running'],
      'src/agent/turns/turn-record.ts': ['listeners', 'running'],
      'src/agent/turns/queue.ts': ['tails', 'entries'],
      'src/core/concurrency/keyed-queue.ts': ['queues', 'waiting'],
      'src/db/changes.ts': ['waiting'],
      'src/adapters/egress/proxy/forward-proxy.ts': ['connections'],
      'src/adapters/runtimes/contract/relay.ts': ['sockets'],
      'src/features/agents/logs/ingest.ts': ['storing'],
      'src/features/agents/operations/operations.ts': ['last'],
      'src/features/agents/sleep/wake.ts': ['waking'],
      'src/features/ai/breakers/breakers.ts': ['refused'],
      'src/features/ai/dialects/messages/stream-from-chat.ts': ['started'],
      'src/features/ai/dialects/responses/stream.ts': ['calls'],
      'src/features/ai/usage/quota.ts': ['held'],
      'src/features/ai/usage/recorder.ts': ['underWay', 'expected'],
      'src/features/ai/usage/spend.ts': ['underWay'],
      'src/features/payments/paid-gateway/routes.ts': ['underWay'],
      'src/features/payments/underground/send-message.ts': ['firstAttempts'],
      'src/features/accounts/sessions/sessions.ts': ['underWay'],
      'src/features/conversations/chat/turns/log.ts': ['waiting'],
      'src/features/conversations/chat/turns/turns.ts': ['live'],
      'src/http/bodies/unfinished.ts': ['taken'],
      'src/http/idempotency.ts': ['underWay'],
      'src/http/streams/exports.ts': ['underWay'],
      'src/http/streams/sse.ts': ['open'],
      'src/jobs/queue.ts': ['quick', 'slow'],
    },
  ],
  [
    'the keys are agents, containers or services that exist; those that are gone are forgotten',
    {
      'src/adapters/runtimes/contract/relay.ts': ['relays'],
      'src/adapters/runtimes/docker/watch.ts': ['ends', 'starts', 'removals', 'outOfMemory'],
      'src/adapters/runtimes/engine/shell.ts': ['known', 'samples'],
      'src/adapters/runtimes/process/process.ts': ['agents'],
      'src/adapters/runtimes/swarm/inspection.ts': ['counts'],
      'src/adapters/runtimes/swarm/watch.ts': ['lostSince', 'underWay'],
      'src/features/agents/logs/read.ts': ['viewed'],
      'src/features/agents/reconciliation/outages.ts': ['following', 'again'],
      'src/features/agents/reconciliation/reconcile.ts': ['seenSince'],
      'src/features/agents/sleep/sleep.ts': ['uses'],
      'src/features/agents/watchdog/watch.ts': ['looks', 'repairs', 'wanted'],
    },
  ],
  [
    'the keys are our own: settings, routes, files, runtimes, providers, addresses of this machine',
    {
      'src/adapters/runtimes/contract/runtimes.ts': ['opened'],
      'src/adapters/egress/proxy/forward-proxy.ts': ['servers'],
      'src/adapters/runtimes/process/network.ts': ['servers'],
      'src/server/listeners/egress-proxy.ts': ['urls'],
      'src/agent/commands/mcp-servers.ts': ['begun'],
      'src/server/api-document/served.ts': ['written'],
      'src/server/dashboard.ts': ['prepared'],
      'src/server/listeners/agent-listener.ts': ['urls'],
      'src/features/agents/storage/measure.ts': ['askedAtMs'],
      'src/features/ai/catalogue/catalogue.ts': ['listed'],
      'src/features/ai/guardrails/body-texts.ts': ['TEXT_FIELDS', 'ANSWER_FIELDS'],
      'src/features/web-tools/feeds/feeds.ts': ['known', 'underWay'],
    },
  ],
  [
    'it belongs to one call, which a limit of bytes, rows or tool uses ends',
    {
      'src/adapters/git/files.ts': ['remembered'],
      'src/adapters/runtimes/engine/images.ts': ['layers'],
      'src/adapters/runtimes/process/spawn.ts': ['killed'],
      'src/agent/tools/tools.ts': ['counts'],
      'src/server/api-document/document.ts': ['kinds'],
      'src/cli/remote/rollout/roll-out.ts': ['reports', 'returns'],
      'src/features/agents/reconciliation/reconcile.ts': ['down', 'homes'],
      'src/features/ai/gateway/routing.ts': ['known'],
      'src/features/ai/guardrails/guard-chunks.ts': ['lanes', 'waiting'],
      'src/features/ai/responses/conversation.ts': ['known'],
      'src/features/ai/usage/cost-dashboard.ts': ['pairs', 'byDay'],
      'src/features/ai/usage/queries.ts': ['spent'],
      'src/features/conversations/chat/turns/figures.ts': ['ids'],
      'src/features/conversations/memory/import-workspace.ts': ['taken'],
      'src/features/conversations/memory/save.ts': ['facts', 'values'],
      'src/features/monitoring/metrics/agent-stats.ts': ['asked'],
    },
  ],
]

test('every map and set of src that outlives a call has a bound; for keys of callers use quick-lru', async () => {
  const paths = [...new Bun.Glob('src/**/*.ts').scanSync(root)].filter((path) => !path.endsWith('.test.ts'))
  const found = await Promise.all(
    paths.map(async (path) =>
      findLongLivedMaps(path, await Bun.file(join(root, path)).text()).map((name) => `${path}: ${name}`),
    ),
  )
  const bounded = BOUNDS.flatMap(([, places]) =>
    Object.entries(places).flatMap(([path, names]) => names.map((name) => `${path}: ${name}`)),
  )
  expect(found.flat().sort()).toEqual(bounded.sort())
})

test.each([
  ['const seen = new Map()\nexport const note = (key: string) => seen.set(key, 1)', ['seen']],
  ['export function open() { const seen = new Set<string>(); return (key: string) => seen.add(key) }', ['seen']],
  ['export class Store { readonly #seen = new Map<string, number>() }', ['seen']],
  [
    'const getOrInsert = (map: Map<string, string>) => map\nconst kept = new Map()\nexport const f = () => getOrInsert(kept)',
    ['kept'],
  ],
  ['const FIXED = new Set(["a"])\nexport const has = (key: string) => FIXED.has(key)', []],
  [
    'export function sum(rows: string[]) { const seen = new Set<string>(); for (const row of rows) seen.add(row); return seen }',
    [],
  ],
])('findLongLivedMaps of %j returns %j', (code, names) => {
  expect(findLongLivedMaps('src/core/a.ts', code)).toEqual(names)
})
