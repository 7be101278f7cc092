import { expect, test } from 'bun:test'
import { describeDetail } from './audit-detail.ts'

test('describeDetail shows a pair as a change and anything else as a value', () => {
  expect(describeDetail({ plan: ['free', 'solo'], ended: 3, via: 'link' })).toEqual([
    'plan: free → solo',
    'ended: 3',
    'via: link',
  ])
  expect(describeDetail({})).toEqual([])
  expect(describeDetail(null)).toEqual([])
})
