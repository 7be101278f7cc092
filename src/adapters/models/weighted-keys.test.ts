import { expect, test } from 'bun:test'
import { type AiProvider, ProviderError } from './provider.ts'
import { distributeOverKeys, parseWeightedKeys } from './weighted-keys.ts'

test.each([
  ['sk-a', [['sk-a', 1]]],
  ['sk-a*3', [['sk-a', 3]]],
  [
    ' sk-a*3 , sk-b*1,sk-c ',
    [
      ['sk-a', 3],
      ['sk-b', 1],
      ['sk-c', 1],
    ],
  ],
  [
    'sk-a*0, sk-b*x',
    [
      ['sk-a*0', 1],
      ['sk-b*x', 1],
    ],
  ],
  ['', [['', 1]]],
] as const)('parseWeightedKeys parses %j', (text, keys) => {
  expect(parseWeightedKeys(text).map(({ key, weight }) => [key, weight])).toEqual(keys.map((pair) => [...pair]))
})

/** A provider whose key decides what happens; `calls` names the keys in order. */
function keyed(text: string, failures: Record<string, () => ProviderError> = {}) {
  const calls: string[] = []
  const clock = { ms: 0 }
  const open = (key: string): AiProvider => {
    const answer = async () => {
      calls.push(key)
      const failure = failures[key]?.()
      if (failure) throw failure
      return { json: '{}', id: '', model: 'm', content: key, said: '', usage: null }
    }
    const unused = () => Promise.reject(new Error('not used here'))
    return {
      ...{ id: 'p', dialects: ['chat'], complete: answer },
      ...{ stream: unused, embed: unused, listModels: unused, tryKey: unused },
    }
  }
  const provider = distributeOverKeys(parseWeightedKeys(text), open, () => clock.ms)
  const request = { dialect: 'chat', body: { model: 'm' }, json: '{}' } as const
  const ask = () => provider.complete(request, new AbortController().signal)
  return { calls, clock, ask }
}

test('distributeOverKeys interleaves keys in proportion to their weights', async () => {
  const { calls, ask } = keyed('a*3, b*1')
  for (let call = 0; call < 8; call++) await ask()
  expect(calls.join('')).toBe('aabaaaba')
})

test('distributeOverKeys uses another key when one is rate-limited', async () => {
  const limited = () => new ProviderError('limited', 'busy', { retryAfterMs: 5000 })
  const { calls, clock, ask } = keyed('a, b', { a: limited })
  expect((await ask()).content).toBe('b')
  expect((await ask()).content).toBe('b')
  expect(calls).toEqual(['a', 'b', 'b'])
  clock.ms = 5000
  await ask()
  await ask()
  expect(calls.filter((key) => key === 'a')).toHaveLength(2)
})

test('distributeOverKeys throws the last error when every key fails, and any other error at once', async () => {
  const rejected = () => new ProviderError('credentials', 'rejected')
  const none = keyed('a, b', { a: rejected, b: rejected })
  expect(none.ask()).rejects.toMatchObject({ failure: 'credentials' })
  await none.ask().catch(() => undefined)
  expect(none.calls).toHaveLength(4)
  for (const failure of ['caller', 'missing', 'broken', 'timeout'] as const) {
    const { calls, ask } = keyed('a, b', { a: () => new ProviderError(failure, 'no') })
    expect(await ask().catch((error) => error)).toMatchObject({ failure })
    expect(calls).toEqual(['a'])
  }
})
