import { expect, test } from 'bun:test'
import { createBroadcast } from './events.ts'
import type { OwnRuntimeName, Runtime, RuntimeEvent, RuntimeName } from './runtime.ts'
import { createNoRuntime, createRuntimes } from './runtimes.ts'

/** Creates runtimes that only publish events; `opened` and `closed` name them. */
function openThree() {
  const opened: RuntimeName[] = []
  const closed: RuntimeName[] = []
  const events = {
    process: createBroadcast<RuntimeEvent>(),
    docker: createBroadcast<RuntimeEvent>(),
    swarm: createBroadcast<RuntimeEvent>(),
  }
  const openDouble = (name: OwnRuntimeName) => (): Runtime => {
    opened.push(name)
    return {
      ...createNoRuntime(name, 'Not in this test'),
      watch: (signal) => events[name].listen(signal),
      close: async () => void closed.push(name),
    }
  }
  const runtimes = createRuntimes({
    openers: { process: openDouble('process'), docker: openDouble('docker'), swarm: openDouble('swarm') },
    choose: async () => 'docker',
    whyNotNew: async () => null,
  })
  return { runtimes, events, opened, closed }
}

test('runtimeOf opens each runtime once when it is called repeatedly, and close closes all', async () => {
  const { runtimes, opened, closed } = openThree()
  expect(opened).toEqual([])
  const docker = runtimes.runtimeOf({ runtime: 'docker' })
  expect(runtimes.runtimeOf({ runtime: 'docker' })).toBe(docker)
  expect(runtimes.runtimeOf({ runtime: 'process' }).name).toBe('process')
  expect(opened).toEqual(['docker', 'process'])
  expect(runtimes.listOpen().map(({ name }) => name)).toEqual(['docker', 'process'])
  await runtimes.close()
  expect(closed).toEqual(['docker', 'process'])
  expect(() => runtimes.runtimeOf({ runtime: 'swarm' })).toThrow('The agent runtimes are closed')
})

test('runtimeOf opens no runtime when the agent was never deployed', async () => {
  const { runtimes, opened } = openThree()
  const nowhere = runtimes.runtimeOf({ runtime: null })
  expect(await nowhere.inspect('ada-1')).toBeNull()
  await nowhere.remove('ada-1')
  for (const asked of [nowhere.stats('ada-1'), nowhere.logs('ada-1', { tail: 1 }), nowhere.start('ada-1')]) {
    await expect(asked).rejects.toMatchObject({ kind: 'not_found' })
  }
  expect(opened).toEqual([])
})

test('watch yields events of all runtimes when some open later', async () => {
  const { runtimes, events } = openThree()
  runtimes.runtimeOf({ runtime: 'process' })
  const heard = runtimes.watch(new AbortController().signal)[Symbol.asyncIterator]()
  const at = new Date(0)
  events.process.publish({ id: 'ada-1', type: 'died', at })
  expect(await heard.next()).toEqual({ done: false, value: { id: 'ada-1', type: 'died', at, runtime: 'process' } })
  runtimes.runtimeOf({ runtime: 'docker' })
  events.docker.publish({ id: 'bo-1', type: 'started', at })
  expect(await heard.next()).toEqual({ done: false, value: { id: 'bo-1', type: 'started', at, runtime: 'docker' } })
  await runtimes.close()
  expect((await heard.next()).done).toBe(true)
})
