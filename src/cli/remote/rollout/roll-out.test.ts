import { expect, test } from 'bun:test'
import { type Fate, type RolloutMember, rollOut, toWaves } from './roll-out.ts'

const NEVER = () => {}

/** Agents a, b, c, …; those of `bad` do not start on the new image, those of `stuck` do not go back. */
function fleet(size: number, { bad = '', stuck = '' } = {}) {
  const done: string[] = []
  let underWay = 0
  let mostUnderWay = 0
  const members = Array.from({ length: size }, (_, index): RolloutMember => {
    const name = String.fromCharCode(97 + index)
    return {
      name,
      update: async () => {
        mostUnderWay = Math.max(mostUnderWay, ++underWay)
        await Promise.resolve()
        underWay--
        if (bad.includes(name)) throw new Error(`${name} is not healthy`)
        done.push(name)
        return async () => {
          if (stuck.includes(name)) throw new Error('the engine is gone')
          done.push(`-${name}`)
        }
      },
    }
  })
  return { members, done, mostUnderWay: () => mostUnderWay }
}

const fates = (reports: { fate: Fate }[]) => reports.map(({ fate }) => fate).join(' ')

test('toWaves doubles the size of each wave up to the allowed number', async () => {
  expect(toWaves([...'abcdefghijk'], 4).map((wave) => wave.join(''))).toEqual(['a', 'bc', 'defg', 'hijk'])
  expect(toWaves([], 4)).toEqual([])
  const it = fleet(11)
  expect(fates(await rollOut(it.members, 4, NEVER))).toBe(Array(11).fill('updated').join(' '))
  expect(it.mostUnderWay()).toBe(4)
})

test('rollOut updates no other agent when the first one fails', async () => {
  const it = fleet(5, { bad: 'a' })
  const reports = await rollOut(it.members, 4, NEVER)
  expect(fates(reports)).toBe('failed kept kept kept kept')
  expect(reports[0]?.reason).toBe('a is not healthy')
  expect(it.done).toEqual([])
})

test('rollOut ends the wave and rolls back updated agents when a later one fails', async () => {
  const it = fleet(9, { bad: 'd' })
  const heard: string[] = []
  const reports = await rollOut(it.members, 4, ({ member, fate }) => heard.push(`${member.name} ${fate}`))
  expect(fates(reports)).toBe('returned returned returned failed returned returned returned kept kept')
  expect(it.done.filter((name) => name.startsWith('-')).sort()).toEqual(['-a', '-b', '-c', '-e', '-f', '-g'])
  expect(heard.slice(0, 3)).toEqual(['a updated', 'b updated', 'c updated'])
})

test('rollOut reports a failed rollback and rolls back the others', async () => {
  const it = fleet(3, { bad: 'c', stuck: 'a' })
  const reports = await rollOut(it.members, 4, NEVER)
  expect(fates(reports)).toBe('failed returned failed')
  expect(reports[0]?.reason).toBe('it did not go back: the engine is gone')
})
