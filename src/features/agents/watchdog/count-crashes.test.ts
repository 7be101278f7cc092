import { expect, test } from 'bun:test'
import type { AgentState, Inspection } from '../../../adapters/runtimes/contract/runtime.ts'
import { countCrashes, type SeenProcess } from './look.ts'

type Look = { state: AgentState; up?: number; restarts: number; exitCode?: number; died?: boolean }

function inspect({ state, up, restarts, exitCode = 137 }: Look): Inspection {
  return {
    id: 'ada',
    kind: 'stead',
    state,
    host: '127.0.0.1',
    port: 19_000,
    image: null,
    version: null,
    startedAt: up === undefined ? null : new Date(up),
    exitCode: up === undefined ? exitCode : null,
    isOutOfMemory: false,
    restarts,
  }
}

/** Returns the crashes counted at each inspection. */
function countAll(looks: Look[]): number[] {
  let seen: SeenProcess | null = null
  return looks.map((look) => {
    const finding = countCrashes(seen, inspect(look), look.died ?? false)
    seen = finding.seen
    return finding.crashes
  })
}

const rows: [string, Look[], number[]][] = [
  ['a first look counts nothing', [{ state: 'running', up: 1, restarts: 4 }], [0]],
  [
    'seen down, then back, where the next start counts: once',
    [
      { state: 'running', up: 1, restarts: 0 },
      { state: 'restarting', restarts: 0, died: true },
      { state: 'running', up: 2, restarts: 1 },
    ],
    [0, 1, 0],
  ],
  [
    'seen down, then back, where the end counts: once',
    [
      { state: 'running', up: 1, restarts: 0 },
      { state: 'restarting', restarts: 1, died: true },
      { state: 'running', up: 2, restarts: 1 },
    ],
    [0, 1, 0],
  ],
  [
    'back before anybody looked: once for each restart',
    [
      { state: 'running', up: 1, restarts: 0 },
      { state: 'running', up: 2, restarts: 1, died: true },
      { state: 'running', up: 3, restarts: 4 },
    ],
    [0, 1, 3],
  ],
  [
    'it ends again and again without ever being seen up',
    [
      { state: 'running', up: 1, restarts: 0 },
      { state: 'restarting', restarts: 0 },
      { state: 'restarting', restarts: 1 },
      { state: 'restarting', restarts: 2 },
    ],
    [0, 1, 1, 1],
  ],
  [
    'the event comes after the look that saw it: once',
    [
      { state: 'running', up: 1, restarts: 0 },
      { state: 'restarting', restarts: 0 },
      { state: 'restarting', restarts: 0, died: true },
    ],
    [0, 1, 0],
  ],
  [
    'killed by somebody at the engine and not brought back: once, by the event',
    [
      { state: 'running', up: 1, restarts: 0 },
      { state: 'stopped', restarts: 0, died: true },
      { state: 'stopped', restarts: 0 },
    ],
    [0, 1, 0],
  ],
  [
    'stopped without such an event: somebody asked for it',
    [
      { state: 'running', up: 1, restarts: 0 },
      { state: 'stopped', restarts: 0 },
    ],
    [0, 0],
  ],
  [
    'another process without an event or a restart: started anew with the platform',
    [
      { state: 'running', up: 1, restarts: 2 },
      { state: 'running', up: 2, restarts: 2 },
      { state: 'running', up: 3, restarts: 0 },
    ],
    [0, 0, 0],
  ],
  ['it died before the first look', [{ state: 'running', up: 2, restarts: 1, died: true }], [1]],
]

test.each(rows)('%s', (_name, looks, crashes) => {
  expect(countAll(looks)).toEqual(crashes)
})

test('countCrashes treats exit code 78 as misconfigured, not as a crash', () => {
  const seen = { startedAt: 1, restarts: 0 }
  for (const state of ['exited', 'restarting'] as const) {
    const finding = countCrashes(seen, inspect({ state, restarts: 1, exitCode: 78 }), true)
    expect(finding).toMatchObject({ crashes: 0, isMisconfigured: true, isDown: state === 'exited' })
  }
})

test('countCrashes reports an unknown agent as down', () => {
  expect(countCrashes({ startedAt: 1, restarts: 0 }, null, true)).toMatchObject({ crashes: 0, isDown: true })
})
